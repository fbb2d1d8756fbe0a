/** Settings that a user decides once, for all sandboxes of a kind. */

/** The user's settings for git. */
export interface GitPolicy {
  /** If the branch has no other new commits, move it to the plan's own commits, without a merge commit. */
  readonly fastForward: boolean;
  /** Run the hooks of the user's repository at a landing. */
  readonly runHooks: boolean;
  /** How long a git command may be silent before it is ended. */
  readonly limitMilliseconds: number;
}

/** How long a transaction may be held open. */
export interface TransactionPolicy {
  /** How long it may be unused. */
  readonly idleMilliseconds: number;
  /** How long it may be open at all. */
  readonly ageMilliseconds: number;
}

/** May set-id files and device nodes made inside a sandbox land? */
export interface LandingPolicy {
  readonly allowSetid: boolean;
  readonly allowDevices: boolean;
}
