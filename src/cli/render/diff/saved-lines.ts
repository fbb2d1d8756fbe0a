import { displayPath } from "../../../core/paths/byte-path.ts";
import type { SavedView } from "../../../plans/plan-views.ts";
import { oneLine } from "../../terminal/printable.ts";
import { placeOf } from "../plan/attention-line.ts";
import type { Styles } from "../styles.ts";

const WIDTH = "changed".length;

/** Which checkpoint a diff looks into, and what changed since. */
export function* savedLines({ checkpoint, unlisted, since }: SavedView, styles: Styles): Generator<string> {
  const { id, label, createdAt } = checkpoint;
  yield `as of checkpoint ${label === undefined ? id : oneLine(label)}, saved at ${createdAt}`;
  for (const resource of unlisted)
    yield `${styles.yellow("not listed:")} ${displayPath(resource)}, whose strategy does not tell what a checkpoint holds`;
  const all = since.new + since.changed + since.gone;
  if (all === 0) return yield "nothing changed since then";
  yield `since then: ${since.new} new, ${since.changed} changed, ${since.gone} gone`;
  for (const { resource, path, since: how } of since.changes)
    yield `   ${how.padEnd(WIDTH)}  ${placeOf(resource, path)}`;
  if (all > since.changes.length) yield styles.dim(`   … and ${all - since.changes.length} more`);
}
