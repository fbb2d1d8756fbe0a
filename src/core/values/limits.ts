/** The limits of a command with everything that it starts. */
export const LIMIT_NAMES = ["processes", "memory", "scratch", "time"] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** The limits of a command. An absent one does not apply. */
export interface Limits {
  /** How many processes it may have at once; each thread counts as one. */
  readonly processes?: number;
  /** How much memory, in bytes. */
  readonly memory?: number;
  /** How much it may write outside the plan's resources, in bytes on disk. */
  readonly scratch?: number;
  /** How long it may run, in milliseconds. */
  readonly time?: number;
}
