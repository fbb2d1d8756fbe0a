/**
 * What a strategy can do, declared by itself as data. Nobody asks for a strategy's name or class to find out.
 */
export interface StrategyCapabilities {
  /**
   * How the strategy votes in an atomic commit.
   * - `two-phase`: has prepare, commitPrepared and rollbackPrepared. Any number may take part in one commit.
   * - `one-phase`: only commit. With `undo` it can be taken back by rollback; without, at most one takes part, and it goes last.
   * - `in-place`: there is no commit step at all, because the original is worked on directly. Needs the user's word.
   */
  readonly commit: "two-phase" | "one-phase" | "in-place";
  /**
   * A landed commit can be taken back later; a two-phase strategy then keeps what commitPrepared and an undo need through cleanup, until
   * discardUndo. Default: true for two-phase, else false.
   */
  readonly undo?: boolean;
  /** checkpoint and restoreCheckpoint work. Default: true. */
  readonly checkpoint?: boolean;
  /** How the work is kept apart from the original. Default: `copy`. */
  readonly isolation?: "view" | "copy" | "branch" | "transaction" | "none";
  /** For the automatic choice; larger is stronger. The built-ins are 0 to 60 in steps of 10. Default: 5. */
  readonly strength?: number;
  /** The types of resource it can isolate. Default: every type. */
  readonly resourceTypes?: readonly string[];
  /** The sandbox holds its work only in a live connection, so in a commit it prepares last among the two-phase ones. Default: false. */
  readonly heldTransaction?: boolean;
}

/** Capabilities with every default filled in. */
export type FullCapabilities = Required<Omit<StrategyCapabilities, "resourceTypes">> & {
  readonly resourceTypes: readonly string[] | "all";
};

/** Fills in the defaults, which are documented on the fields. */
export function withDefaults(capabilities: StrategyCapabilities): FullCapabilities {
  return {
    commit: capabilities.commit,
    undo: capabilities.undo ?? capabilities.commit === "two-phase",
    checkpoint: capabilities.checkpoint ?? true,
    isolation: capabilities.isolation ?? "copy",
    strength: capabilities.strength ?? 5,
    resourceTypes: capabilities.resourceTypes ?? "all",
    heldTransaction: capabilities.heldTransaction ?? false,
  };
}
