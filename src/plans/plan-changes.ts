import { createHash, type Hash } from "node:crypto";
import type { Change, TakeChange } from "../core/change.ts";
import { isAtOrBelow, joinPath } from "../core/paths/byte-path.ts";
import { PathPatterns } from "../core/paths/path-patterns.ts";
import { boundariesOf, type PlanRecord } from "../core/plan.ts";
import { linesFor, patternsFor } from "../core/resource-pattern.ts";
import { type LandingWords, ProtectedPaths } from "../core/self-running/protected-paths.ts";
import { isEntry, selfRunningAmong } from "../core/self-running/self-running.ts";
import type { SelfRunningFile } from "../core/self-running/self-running-rules.ts";
import { holdsInvisible } from "../core/values/invisible-characters.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import { shortDigest } from "../system/data/short-digest.ts";
import type { PlanChange, SelfRunningChange } from "./plan-views.ts";

/**
 * The changes that a plan would make, with warnings that a person must not overlook; and a separate list of
 * the self-running files among them.
 */
export interface PlanChanges {
  readonly changes: readonly PlanChange[];
  readonly selfRunning: readonly SelfRunningChange[];
}

/** Takes the changes of a plan one by one; for a self-running file also the facts about that. */
export type TakePlanChange = (change: PlanChange, selfRunning: SelfRunningChange | undefined) => void;

/** Tells the changes of one resource. */
export type ChangesOf = (resource: string, take: TakeChange) => Promise<void>;

/** Asks every sandbox of a plan. `words` say what may land of self-running files and protected paths. */
export async function eachChange(
  plan: PlanRecord,
  sandboxes: PlanSandboxes,
  words: LandingWords,
  take: TakePlanChange,
): Promise<void> {
  await eachChangeOf(plan, words, take, presentChanges(plan, sandboxes));
}

/** The changes that the sandboxes of a plan have now. */
export function presentChanges(plan: PlanRecord, sandboxes: PlanSandboxes): ChangesOf {
  return async (resource, take) => {
    const { record, strategy } = await sandboxes.usable(plan, resource, "look");
    const { changes } = await strategy.diff(record.ref, take);
    changes.forEach(take);
  };
}

/** The same for changes that come from elsewhere. */
export async function eachChangeOf(
  plan: PlanRecord,
  { configured, allow, protect }: LandingWords,
  take: TakePlanChange,
  changesOf: ChangesOf,
): Promise<void> {
  for (const { resource } of boundariesOf(plan)) {
    const { name, type } = resource;
    // A repository may have any name, but tools know it as `.git`.
    const location = type === "git-repository" ? `${resource.location}/.git` : resource.location;
    const allowed = new PathPatterns(patternsFor(plan, name, [...configured, ...allow]));
    const guarded = new ProtectedPaths({
      lines: linesFor(plan, name, protect),
      allow: patternsFor(plan, name, allow),
    });
    const takeOne = (change: Change) => {
      const file = selfRunningFile(location, change);
      const runs = file && selfRunningChange(name, change, file, allowed);
      // The digest of a plan says what lands, and not what protects it.
      take(
        noted(name, change, file),
        runs?.needsWord === true ? runs : (held(name, change, guarded) ?? runs),
      );
    };
    await changesOf(name, takeOne);
  }
}

/** All changes of a plan at once. */
export async function planChanges(
  plan: PlanRecord,
  sandboxes: PlanSandboxes,
  words: LandingWords,
): Promise<PlanChanges> {
  const [changes, selfRunning]: [PlanChange[], SelfRunningChange[]] = [[], []];
  await eachChange(plan, sandboxes, words, (change, runs) => {
    changes.push(change);
    if (runs !== undefined) selfRunning.push(runs);
  });
  return { changes, selfRunning };
}

/**
 * The digest of everything that would land and its base: the facts and digests of both sides of every change.
 */
export class ChangesDigest {
  #hash: Hash | undefined;

  add(change: PlanChange): void {
    const text = JSON.stringify(change);
    if (this.#hash === undefined) this.#hash = createHash("sha256").update(`[${text}`);
    else this.#hash.update(`,${text}`);
  }

  end(): string {
    return this.#hash?.update("]").digest("hex") ?? shortDigest("[]");
  }
}

export function digestOf(changes: readonly PlanChange[]): string {
  const digest = new ChangesDigest();
  for (const change of changes) digest.add(change);
  return digest.end();
}

/**
 * Whether a path is chosen: relative to its resource, or with the resource's name before it, as a diff over
 * several resources shows it.
 */
export function isWanted(
  { resource, path }: { readonly resource: string; readonly path: string },
  wanted: readonly string[] | undefined,
): boolean {
  if (wanted === undefined || wanted.length === 0) return true;
  return wanted.some((given) => isAtOrBelow(path, given) || isAtOrBelow(joinPath(resource, path), given));
}

function selfRunningFile(location: string, change: Change): SelfRunningFile | undefined {
  const { path, operation, kind } = change;
  return selfRunningAmong(location, [{ path, operation, kind, onlyTime: isOnlyTime(change) }])[0]?.file;
}

function selfRunningChange(
  resource: string,
  { path, operation }: Change,
  { tool, why }: SelfRunningFile,
  allowed: PathPatterns,
): SelfRunningChange {
  return { resource, path, operation, tool, why, needsWord: operation !== "deleted" && !allowed.has(path) };
}

function held(
  resource: string,
  { path, operation, kind }: Change,
  guarded: ProtectedPaths,
): SelfRunningChange | undefined {
  const found = isEntry(kind) ? guarded.at(path) : undefined;
  return found && { resource, operation, ...found.file, needsWord: found.needsWord };
}

function noted(resource: string, change: Change, runs: SelfRunningFile | undefined): PlanChange {
  const { path, warnings = [], before, after, statement = "" } = change;
  const more = [
    ...(runs === undefined ? [] : [`runs by itself: ${runs.tool} ${runs.why}`]),
    ...(holdsInvisible(path) ? ["its name holds invisible characters"] : []),
    ...(holdsInvisible(`${before?.target ?? ""}${after?.target ?? ""}`)
      ? ["it leads to a name with invisible characters"]
      : []),
    ...(holdsInvisible(statement) ? ["its statement holds invisible characters"] : []),
  ];
  return { resource, ...change, ...(more.length > 0 && { warnings: [...warnings, ...more] }) };
}

/** Whether both sides are known and differ only in time. */
function isOnlyTime({ operation, before, after, insertions = 0, deletions = 0 }: Change): boolean {
  if (operation !== "modified" || before === undefined || after === undefined) return false;
  if (before.mtime === after.mtime || insertions + deletions > 0) return false;
  const facts = ["size", "mode", "uid", "gid", "target", "digest", "xattrs"] as const;
  return facts.every((fact) => before[fact] === after[fact]);
}
