import { createHash } from "node:crypto";
import { isAtOrBelow, joinPath } from "../core/byte-path.ts";
import type { Change } from "../core/change.ts";
import { holdsInvisible } from "../core/invisible-characters.ts";
import { PathPatterns } from "../core/path-patterns.ts";
import { boundariesOf, type PlanRecord } from "../core/plan.ts";
import { patternsFor } from "../core/resource-pattern.ts";
import { selfRunningAmong } from "../core/self-running.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { PlanChange, SelfRunningChange } from "./plan-views.ts";

/** What a plan would change, with a warning for what a person must not overlook; and apart, what tools run by themselves. */
export interface PlanChanges {
  readonly changes: readonly PlanChange[];
  readonly selfRunning: readonly SelfRunningChange[];
}

/** Asks every sandbox of a plan. `allow` is what may land though tools run it by themselves. */
export async function planChanges(
  plan: PlanRecord,
  sandboxes: PlanSandboxes,
  allow: readonly string[],
): Promise<PlanChanges> {
  const all: PlanChange[] = [];
  const selfRunning: SelfRunningChange[] = [];
  for (const { resource } of boundariesOf(plan)) {
    const { name, location } = resource;
    const { record, strategy } = await sandboxes.usable(plan, name, "look");
    const { changes } = await strategy.diff(record.ref);
    const found = selfRunningAmong(
      location,
      changes.map((change) => {
        const { path, operation, kind } = change;
        return { path, operation, kind, onlyTime: isOnlyTime(change), change };
      }),
    );
    const allowed = new PathPatterns(patternsFor(plan, name, allow));
    const runBy = new Map(found.map(({ change: { change }, file }) => [change, `${file.tool} ${file.why}`]));
    for (const change of changes) all.push(noted(name, change, runBy.get(change)));
    for (const { change, file } of found) {
      const { operation, path } = change;
      const needsWord = operation !== "deleted" && !allowed.has(path);
      selfRunning.push({ resource: name, path, operation, ...{ tool: file.tool, why: file.why }, needsWord });
    }
  }
  return { changes: all, selfRunning };
}

/** Over everything that would land and what it is based on: the facts and digests of both sides of every change. */
export function digestOf(changes: readonly PlanChange[]): string {
  // One by one, because there may be more of them than one text can hold.
  const hash = createHash("sha256").update("[");
  for (const [at, change] of changes.entries()) hash.update(`${at === 0 ? "" : ","}${JSON.stringify(change)}`);
  return hash.update("]").digest("hex");
}

/** A path is meant from inside its resource, or with the resource's name before it, as a diff over several shows it. */
export function isWanted(
  { resource, path }: { readonly resource: string; readonly path: string },
  wanted: readonly string[] | undefined,
): boolean {
  if (wanted === undefined || wanted.length === 0) return true;
  return wanted.some((given) => isAtOrBelow(path, given) || isAtOrBelow(joinPath(resource, path), given));
}

function noted(resource: string, change: Change, runBy: string | undefined): PlanChange {
  const { path, warnings = [], before, after, statement = "" } = change;
  const more = [
    ...(runBy === undefined ? [] : [`runs by itself: ${runBy}`]),
    ...(holdsInvisible(path) ? ["its name holds invisible characters"] : []),
    ...(holdsInvisible(`${before?.target ?? ""}${after?.target ?? ""}`)
      ? ["it leads to a name with invisible characters"]
      : []),
    ...(holdsInvisible(statement) ? ["its statement holds invisible characters"] : []),
  ];
  return { resource, ...change, ...(more.length > 0 && { warnings: [...warnings, ...more] }) };
}

/** What differs is known of both sides, and is nothing but the time. */
function isOnlyTime({ operation, before, after, insertions = 0, deletions = 0 }: Change): boolean {
  if (operation !== "modified" || before === undefined || after === undefined) return false;
  if (before.mtime === after.mtime || insertions + deletions > 0) return false;
  const facts = ["size", "mode", "uid", "gid", "target", "digest", "xattrs"] as const;
  return facts.every((fact) => before[fact] === after[fact]);
}
