import { displayPath } from "../../../core/paths/byte-path.ts";
import type { CheckpointResult, CheckpointView, RestoreResult } from "../../../plans/plan-views.ts";
import { oneLine } from "../../terminal/printable.ts";
import { sizeText } from "../size-text.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

/** The name of a new checkpoint. */
export function checkpointLines(checkpoint: CheckpointResult): readonly string[] {
  return [`Saved checkpoint ${nameOf(checkpoint)} of plan ${checkpoint.planId}.`];
}

/** Checkpoints as a table, the oldest first. */
export function checkpointListLines(
  checkpoints: readonly CheckpointView[],
  styles: Styles,
): readonly string[] {
  if (checkpoints.length === 0) return ["There are no checkpoints. Make one with 'drydock plan checkpoint'."];
  const headings = ["ID", "CREATED", "SIZE", "LABEL"].map((text) => ({ text, style: styles.dim }));
  const rows = checkpoints.map(({ id, createdAt, bytes, label, before }) => [
    id,
    createdAt,
    sizeText(bytes),
    label !== undefined ? displayPath(label) : { text: noteOf(before), style: styles.dim },
  ]);
  return textTable([headings, ...rows]);
}

/** The result of a restore. */
export function restoreLines({ planId, checkpoint, dropped }: RestoreResult): readonly string[] {
  const more =
    dropped.length === 0 ? "" : ` ${counted(dropped.length)} made after it ${isOrAre(dropped.length)} gone.`;
  return [`Restored plan ${planId} to checkpoint ${nameOf(checkpoint)}.${more}`];
}

function noteOf(before: string | undefined): string {
  return before === undefined ? "" : `before ${oneLine(before)}`;
}

function nameOf({ id, label }: CheckpointView): string {
  return label === undefined ? id : `${id} (${displayPath(label)})`;
}

function counted(count: number): string {
  return count === 1 ? "1 checkpoint" : `${count} checkpoints`;
}

function isOrAre(count: number): string {
  return count === 1 ? "is" : "are";
}
