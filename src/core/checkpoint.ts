/**
 * A saved state of all sandboxes of a plan, as the store keeps it. The data itself is kept by each sandbox's
 * strategy; two checkpoints between which nothing changed refer to the same data.
 */
export interface CheckpointRecord {
  /** A ULID, so that checkpoints sort by their age. */
  readonly id: string;
  readonly planId: string;
  /**
   * What the user called it; unique within the plan. One with a label is kept until it is dropped by a
   * restore, a landing or a rollback.
   */
  readonly label?: string;
  /** UTC, ISO 8601. */
  readonly createdAt: string;
  /** It was made by Drydock itself, before this command. */
  readonly before?: string;
  readonly state: CheckpointState;
  /**
   * Of one that was made only so that a restore can be taken back: the checkpoint that is restored. It is
   * never listed.
   */
  readonly restores?: string;
  readonly parts: readonly CheckpointPart[];
}

/**
 * - `saving`: being made. A crash here removes it.
 * - `saved`: whole, and on disk.
 * - `restoring`: (one that `restores` another) whole; the other is being restored. A crash here finishes the
 *   restore.
 * - `returning`: (the same) the restore failed; the sandboxes are on their way back to this one. A crash here
 *   goes on with that.
 * - `dropping`: its data is being removed.
 */
export type CheckpointState = "saving" | "saved" | "restoring" | "returning" | "dropping";

/** What a checkpoint has of one sandbox. */
export interface CheckpointPart {
  readonly sandboxId: string;
  /** The id under which the sandbox's strategy keeps the data: that of the checkpoint that first saved it. */
  readonly dataId: string;
  /** What the strategy told of the state; see SavedCheckpoint. */
  readonly mark?: string;
  /** The size of what was saved, where the strategy tells. */
  readonly bytes?: number;
}

/** A checkpoint that is there. */
export interface LastCheckpoint {
  readonly id: string;
  /** What was returned as its mark. */
  readonly mark: string;
}

/** What a strategy has to say of a checkpoint. All of it may be left out. */
export interface SavedCheckpoint {
  /**
   * Stands for the state that was saved: a sandbox for which the same mark is found later is in the same
   * state.
   */
  readonly mark?: string;
  /** The size of what was saved. */
  readonly bytes?: number;
  /** The state is that of the last checkpoint, and nothing was saved. */
  readonly isSame?: boolean;
}
