import { displayPath } from "../../../core/paths/byte-path.ts";
import type { CleanupItem, CleanupStatus, IdlePlan, PurgeResult } from "../../../plans/plan-views.ts";
import { oneLine } from "../../terminal/printable.ts";
import { sizeText } from "../size-text.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

/** A line for each leftover. */
export function cleanupItemLines(items: readonly CleanupItem[], styles: Styles): readonly string[] {
  if (items.length === 0) return ["Nothing is left over."];
  return itemTable(items, (item) => (item.holdsWork ? `${item.reason}; may hold work` : item.reason), styles);
}

/** Open plans that nobody has used for long; nothing but the user's word ends them. */
export function idlePlanLines(plans: readonly IdlePlan[], styles: Styles): readonly string[] {
  if (plans.length === 0) return [];
  return [
    "Open plans that nobody has used for long ('drydock plan cancel PLAN' ends one):",
    ...textTable(
      plans.map(({ planId, name, lastUsed, by, bytes }) => [
        planId,
        displayPath(name),
        sizeText(bytes),
        { text: `last used ${lastUsed} by ${oneLine(by)}`, style: styles.dim },
      ]),
    ).map((line) => `  ${line}`),
  ];
}

/** The leftovers that a purge removed, kept, and could not remove. */
export function purgeLines(
  { dryRun, removed, kept, failed }: PurgeResult,
  styles: Styles,
): readonly string[] {
  if (removed.length + kept.length + failed.length === 0) return ["Nothing is left over."];
  const parts = [
    [dryRun ? "Would remove" : "Removed", removed.map((item) => ({ ...item, note: item.reason }))],
    ["Left alone", kept.map((item) => ({ ...item, note: item.why }))],
    ["Could not remove", failed.map((item) => ({ ...item, note: item.message }))],
  ] as const;
  return parts.flatMap(([title, items]) =>
    items.length === 0
      ? []
      : [`${title}:`, ...itemTable(items, ({ note }) => note, styles, false).map((line) => `  ${line}`)],
  );
}

/** The counts and sizes of `cleanup status`. */
export function cleanupStatusLines(status: CleanupStatus, styles: Styles): readonly string[] {
  const { stateDir, sandboxes, undoRecords, leftovers } = status;
  const facts: readonly (readonly [string, string])[] = [
    ["state", displayPath(stateDir)],
    ["sandboxes", `${sandboxes.count}, ${sizeText(sandboxes.bytes)}`],
    ["undo records", `${undoRecords.count}, ${sizeText(undoRecords.bytes)}`],
    ["left over", leftovers.count === 0 ? "nothing" : `${leftovers.count}, ${sizeText(leftovers.bytes)}`],
  ];
  return textTable(facts.map(([fact, value]) => [{ text: fact, style: styles.dim }, value]));
}

function itemTable<Item extends CleanupItem>(
  items: readonly Item[],
  noteOf: (item: Item) => string,
  styles: Styles,
  withHeadings = true,
): readonly string[] {
  const headings = ["KIND", "AGE", "SIZE", "LOCATION", "WHY"].map((text) => ({ text, style: styles.dim }));
  const rows = items.map((item) => [
    item.kind,
    item.ageSeconds === null ? "?" : ageText(item.ageSeconds),
    item.bytes === undefined ? "" : sizeText(item.bytes),
    displayPath(item.location),
    { text: oneLine(noteOf(item)), style: styles.dim },
  ]);
  return textTable(withHeadings ? [headings, ...rows] : rows);
}

/** An age in the largest unit that fits. */
function ageText(seconds: number): string {
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)}d`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)}h`;
  return seconds >= 60 ? `${Math.floor(seconds / 60)}m` : `${seconds}s`;
}
