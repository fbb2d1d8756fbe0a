import type { SandboxRef } from "../core/sandbox.ts";

/** What became of something that was done to every sandbox of a plan: it goes on after a failure, and lists what it could not do. */
export interface SweepReport {
  readonly done: readonly string[];
  readonly failed: readonly {
    readonly resource: string;
    readonly message: string;
    readonly cause: unknown;
    /** The sandbox, where nobody here can do anything to it: its strategy is missing, or is no longer the one that made it. */
    readonly outOfReach?: SandboxRef;
  }[];
}
