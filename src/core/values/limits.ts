/** What a command can be limited in, with everything that it starts. */
export const LIMIT_NAMES = ["processes", "memory", "scratch"] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** The limits of a command. What is absent has none. */
export interface Limits {
  /** How many processes there may be of it at once; each thread counts as one. */
  readonly processes?: number;
  /** How much memory, in bytes. */
  readonly memory?: number;
  /** How much it may write outside the plan's resources, in bytes on disk. */
  readonly scratch?: number;
}
