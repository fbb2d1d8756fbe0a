import type { Progress } from "../core/strategy.ts";

/** What every call takes: a way to stop it, and a listener for its progress. */
export interface CallOptions {
  /**
   * Aborting it stops this call and no other: `InterruptedError`. What is decided is finished first, so
   * nothing is left half done.
   */
  readonly signal?: AbortSignal;
  /** Called with the progress of this call. */
  readonly onProgress?: (progress: Progress) => void;
}
