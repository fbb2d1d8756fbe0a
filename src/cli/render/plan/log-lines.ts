import type { PlainData } from "../../../core/resource/resource.ts";
import type { PlanLogEntry } from "../../../core/values/plan-events.ts";
import type { PlanLog } from "../../../plans/plan-views.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

/** The history of a plan, a line for each step. */
export function logLines({ entries }: PlanLog, styles: Styles): readonly string[] {
  const headings = ["TIME", "BY", "WHAT", ""].map((text) => ({ text, style: styles.dim }));
  return textTable([headings, ...entries.map((entry) => rowOf(entry, styles))]);
}

/** One step alone, while the history goes on. */
export function logLine(entry: PlanLogEntry, styles: Styles): string {
  return textTable([rowOf(entry, styles)]).join("");
}

function rowOf(entry: PlanLogEntry, styles: Styles) {
  return [
    entry.at,
    { text: byWhom(entry), style: styles.dim },
    entry.event,
    { text: detailsOf(entry), style: styles.dim },
  ];
}

function byWhom({ actor, pid }: PlanLogEntry): string {
  return pid === undefined ? oneLine(actor) : `${oneLine(actor)} (${pid})`;
}

/** The facts of a step. Names of facts that say nothing are omitted. */
function detailsOf({ details }: PlanLogEntry): string {
  const facts: { readonly [name: string]: PlainData } = { ...details };
  const told = Object.entries(facts).filter(
    // A check without a name is called by its command.
    ([name, value]) => !UNTOLD.includes(name) && !(name === "command" && value === facts["check"]),
  );
  const texts = told.map(([name, value]) => {
    const text = typeof value === "string" ? value : (reportsIn(value) ?? JSON.stringify(value));
    return BARE.includes(name) ? text : `${LABELS[name] ?? name} ${text}`;
  });
  return oneLine(texts.join(", "));
}

/** The reports about several resources, each with its places. */
function reportsIn(value: PlainData): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const reports = value.map((item) => {
    if (item === null || typeof item !== "object" || !("resource" in item) || !("message" in item))
      return undefined;
    const { resource, message, left } = item as { [key: string]: PlainData };
    const places = Array.isArray(left) ? left.map((place) => Object.values(place ?? {}).join(" ")) : [];
    return `${resource}: ${message}${places.length === 0 ? "" : ` (may be left: ${places.join(", ")})`}`;
  });
  return reports.includes(undefined) ? undefined : reports.join("; ");
}

/** Facts that only programs need. */
const UNTOLD: readonly string[] = ["exec", "durationMs", "output", "digests", "hunks"];
const BARE: readonly string[] = [
  "resources",
  "name",
  "command",
  "checkpoint",
  "digest",
  "message",
  "label",
  "check",
  "said",
];
const LABELS: { readonly [name: string]: string } = { exitCode: "exit code", before: "before" };
