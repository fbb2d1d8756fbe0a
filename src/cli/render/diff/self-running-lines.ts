import { isProtected } from "../../../core/self-running/protector.ts";
import type { SelfRunningFile } from "../../../core/self-running/self-running-rules.ts";
import type { SelfRunningChange } from "../../../plans/plan-views.ts";
import { placeOf } from "../plan/attention-line.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

/**
 * The files among the changes that tools run by themselves, in a list of their own, and those that a policy
 * protects: first those that land only with the user's word.
 */
export function* selfRunningLines(all: readonly SelfRunningChange[], styles: Styles): Generator<string> {
  const changes = all.filter((change) => !isProtected(change));
  const guarded = all.filter((change) => isProtected(change) && change.needsWord);
  if (guarded.length > 0)
    yield styles.yellow("A policy protects these; they land only with your word (--allow):");
  yield* places(guarded, styles);
  const waiting = changes.filter(({ needsWord }) => needsWord);
  const others = changes.filter(({ needsWord }) => !needsWord);
  if (waiting.length > 0)
    yield styles.yellow("Tools run these by themselves; they land only with your word (--allow):");
  yield* places(waiting, styles);
  if (others.length > 0) yield styles.yellow("Tools run these by themselves; deleted, or allowed:");
  yield* places(others, styles);
}

function places(changes: readonly SelfRunningChange[], styles: Styles): readonly string[] {
  const rows = changes.map(({ resource, path, tool }) => [
    placeOf(resource, path),
    { text: tool, style: styles.dim },
  ]);
  return textTable(rows).map((line) => `  ${line}`);
}

/** A line for each file, with the tool and the reason. */
export function fileLines(files: readonly SelfRunningFile[], styles: Styles): readonly string[] {
  const rows = files.map(({ resource, path, tool, why }) => [
    placeOf(resource, path),
    { text: `${tool} ${why}`, style: styles.dim },
  ]);
  return textTable(rows).map((line) => `  ${line}`);
}
