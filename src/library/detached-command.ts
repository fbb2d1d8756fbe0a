import type { DetachedView } from "../plans/plan-views.ts";
import type { DetachRequest } from "../run/detached/detached-start.ts";
import type { DetachedOutput } from "../run/detached/output-reading.ts";
import type { WindowSize } from "../system/terminal/program-streams.ts";
import type { CallOptions } from "./call-options.ts";

/** The options of `plan.detach`. */
export interface DetachOptions extends DetachRequest, CallOptions {}

/** The part of an output: from this byte of all that the command wrote, or the last bytes of it. */
export interface OutputOptions extends CallOptions {
  readonly from?: number;
  readonly last?: number;
}

/**
 * A command that goes on without the program that started it, at a terminal of its own. Its last output is
 * kept (256 KiB), also when it has ended, until the next one of the plan or the end of the plan.
 */
export interface DetachedCommand {
  readonly planId: string;
  /** Its id in the history of the plan, by which `plan.command` finds it. */
  readonly exec: string;
  /** How it is now: running, ended, or killed together with the process that keeps it. */
  show(): Promise<DetachedView>;
  /** What it wrote to its terminal so far, or a part of that. Default: all that is kept. */
  output(options?: OutputOptions): Promise<DetachedOutput>;
  /**
   * Types at its terminal, and resolves when that has taken it. A command that does not read keeps a long
   * input waiting.
   */
  write(input: string | Uint8Array, options?: CallOptions): Promise<void>;
  /** Sets the window size of its terminal. */
  resize(size: WindowSize, options?: CallOptions): Promise<void>;
  /** Waits until it has ended, or was killed: then it has no `exitCode`. */
  ended(options?: CallOptions): Promise<DetachedView>;
  /** Ends it: SIGTERM first, and SIGKILL after five seconds. One that has ended stays as it is. */
  end(options?: CallOptions): Promise<DetachedView>;
}
