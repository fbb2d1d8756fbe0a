/**
 * A saved state of all sandboxes of a plan, as the store keeps it. The strategy of each sandbox keeps the
 * data itself; two checkpoints without a change between them share their data.
 */
export interface CheckpointRecord {
  /** A ULID, so that checkpoints sort by their age. */
  readonly id: string;
  readonly planId: string;
  /**
   * The user's name for it; unique within the plan. A checkpoint with a label stays until a restore, a
   * landing or a rollback drops it.
   */
  readonly label?: string;
  /** UTC, ISO 8601. */
  readonly createdAt: string;
  /** The command before which Drydock made it by itself. */
  readonly before?: string;
  readonly state: CheckpointState;
  /**
   * For a checkpoint that exists only to take a restore back: the checkpoint that is being restored. It is
   * never listed.
   */
  readonly restores?: string;
  readonly parts: readonly CheckpointPart[];
}

/**
 * - `saving`: being made. A crash here removes it.
 * - `saved`: complete, and on disk.
 * - `restoring`: (has `restores`) complete; the other checkpoint is being restored. A crash here finishes the
 *   restore.
 * - `returning`: the sandboxes are going back to this one, because a restore failed (it has `restores`), or
 *   would go back, because an update is under way. A crash here continues that.
 * - `dropping`: its data is being removed.
 */
export type CheckpointState = "saving" | "saved" | "restoring" | "returning" | "dropping";

/** The part of a checkpoint that belongs to one sandbox. */
export interface CheckpointPart {
  readonly sandboxId: string;
  /** The id under which the strategy keeps the data: that of the checkpoint that first saved it. */
  readonly dataId: string;
  /** The strategy's mark of the state; see SavedCheckpoint. */
  readonly mark?: string;
  /** The size of the saved data, if the strategy tells it. */
  readonly bytes?: number;
}

/** The checkpoint before, which still exists. */
export interface LastCheckpoint {
  readonly id: string;
  /** The mark that the strategy returned for it. */
  readonly mark: string;
}

/** The strategy's report on a checkpoint. Every field is optional. */
export interface SavedCheckpoint {
  /** Stands for the saved state: a sandbox with the same mark later is in the same state. */
  readonly mark?: string;
  /** The size of the saved data. */
  readonly bytes?: number;
  /** The state equals that of the last checkpoint, and nothing was saved. */
  readonly isSame?: boolean;
}
