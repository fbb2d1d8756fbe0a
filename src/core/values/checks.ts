import type { LimitName } from "./limits.ts";

/** A command that must succeed inside the sandboxes of a plan before the plan lands. */
export interface Check {
  /** Its name in messages and in the log. Default: the command itself. */
  readonly name?: string;
  /** The command, as a shell takes it. */
  readonly run: string;
  /** How long it may run, in milliseconds. */
  readonly time: number;
}

/** How long a check may run, unless the config says otherwise. */
export const DEFAULT_CHECK_MS = 15 * 60_000;

/** How a check ended, and what it wrote. */
export type CheckResult = {
  readonly check: string;
  readonly command: string;
  readonly exitCode: number;
  readonly durationMs: number;
  readonly signal?: string;
  readonly limit?: LimitName;
  /** Both of its outputs together; of a long one the beginning and the end. */
  readonly output: string;
};
