/** What a user decides once, for all sandboxes of a kind. */

/** What the user wants of git. */
export interface GitPolicy {
  /**
   * Where nobody has committed meanwhile, move the branch to the plan's own commits, without a merge commit.
   */
  readonly fastForward: boolean;
  /** Run the hooks of the user's repository when something lands. */
  readonly runHooks: boolean;
  /** For how long a git command may say nothing before it is ended. */
  readonly limitMilliseconds: number;
}

/** How long a transaction may be held open. */
export interface TransactionPolicy {
  /** For how long nobody may use it. */
  readonly idleMilliseconds: number;
  /** For how long it may be open at all. */
  readonly ageMilliseconds: number;
}

/** May set-id files and device nodes made inside a sandbox land? */
export interface LandingPolicy {
  readonly allowSetid: boolean;
  readonly allowDevices: boolean;
}
