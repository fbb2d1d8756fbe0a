import { createHash } from "node:crypto";
import type { Change, ChangeFacts } from "../../core/change.ts";
import { type Facts, identityKey } from "../../system/calls/facts.ts";
import type { Xattrs } from "../../system/calls/xattrs.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { TreeChange } from "../changes/change-set.ts";
import { policyWarnings } from "../checks/landing-policy.ts";
import { ChangeReader, type DiffSides, type ReadChange, type ReadSide } from "./change-reader.ts";
import { invisibleWarnings } from "./invisible-text.ts";
import { kindOfChange, shownFacts } from "./shown-facts.ts";
import { countLines, type LineCounts } from "./text-diff.ts";

/**
 * Turns changes between two trees into the form that people and programs see: facts and digests of both
 * sides, counts of lines, and a warning for everything that will not land exactly. Reads content only where
 * it changed. Yields one change at a time, because all of them may not fit into memory.
 */
export function* shownChanges(changes: Iterable<TreeChange>, sides: DiffSides): Generator<Change> {
  using reader = new ChangeReader(sides);
  const names = replacedNames(changes);
  for (const { path, operation, before, after, xattrs, parts, storedAt } of changes) {
    const change = { path, operation, before, after, xattrs, parts, storedAt };
    yield shownChange(change, reader.read(change), sides, names);
    sides.tick?.();
  }
}

function shownChange(
  change: TreeChange,
  read: ReadChange,
  sides: DiffSides,
  names: ReadonlyMap<string, number>,
): Change {
  const { path, operation, before, after } = change;
  const warnings = warningsOf(change, read, sides, names);
  return {
    path: sides.mapPath?.(path) ?? path,
    operation,
    kind: kindOfChange(after?.kind ?? before?.kind ?? "file"),
    ...(before !== undefined && { before: sideFacts(before, read.before, before.xattrs) }),
    ...(after !== undefined && { after: sideFacts(after, read.after, read.xattrs) }),
    ...(isBinaryChange(read) && { binary: true }),
    ...(warnings.length > 0 && { warnings }),
    ...lineCounts(change, read),
  };
}

function sideFacts(facts: Facts | BaseFacts, { content, target }: ReadSide, xattrs: Xattrs): ChangeFacts {
  return {
    ...shownFacts(facts),
    ...(target !== undefined && { target }),
    ...(content !== undefined && { digest: content.digest }),
    ...(Object.keys(xattrs).length > 0 && { xattrs: digestOf(xattrs) }),
  };
}

function digestOf(xattrs: Xattrs): string {
  return createHash("sha256").update(JSON.stringify(xattrs)).digest("hex");
}

function isBinaryChange({ before, after }: ReadChange): boolean {
  return before.content?.binary === true || after.content?.binary === true;
}

/** Returns undefined unless the text of every file side is known: a guess would be worse. */
function lineCounts({ before, after, parts }: TreeChange, read: ReadChange): LineCounts | undefined {
  if (parts !== undefined || (before?.kind !== "file" && after?.kind !== "file")) return undefined;
  const old = before?.kind === "file" ? read.before.content?.text : NO_TEXT;
  const fresh = after?.kind === "file" ? read.after.content?.text : NO_TEXT;
  return old === undefined || fresh === undefined ? undefined : countLines(old, fresh);
}

const NO_TEXT = Buffer.alloc(0);

function warningsOf(
  change: TreeChange,
  read: ReadChange,
  { policy, original }: DiffSides,
  names: ReadonlyMap<string, number>,
): string[] {
  const { before } = change;
  const warnings = policyWarnings({ ...change, xattrs: read.xattrs }, policy);
  if (before !== undefined && original !== undefined && keepsOtherNames(change, before, names)) {
    warnings.push("has other names outside the plan, which keep the old content");
  }
  if (before !== undefined && original !== undefined && changesHands(change, before)) {
    warnings.push(
      `will belong to user ${change.after?.uid} instead of ${before.uid}, because only root can keep its owner`,
    );
  }
  warnings.push(...invisibleWarnings(read.after));
  if (read.originalChanged) warnings.push("the original changed meanwhile");
  if (read.before.unreadable || read.after.unreadable)
    warnings.push("its content may not be read by this user");
  return warnings;
}

/** Without privilege, a copy of another user's file belongs to this user, and so does the file that lands. */
function changesHands({ operation, parts, after }: TreeChange, before: BaseFacts): boolean {
  if (operation !== "modified" || parts !== undefined || after === undefined) return false;
  return after.uid !== before.uid && process.geteuid?.() !== 0;
}

/** Whether a file gets new content under some of its names, but keeps the old content under others. */
function keepsOtherNames(change: TreeChange, before: BaseFacts, names: ReadonlyMap<string, number>): boolean {
  if (change.operation !== "modified" || change.parts !== undefined || before.kind === "directory")
    return false;
  if (before.nlink < 2) return false;
  return before.nlink > (names.get(identityKey(before)) ?? 1);
}

/** How many names of each inode of the original get other content or are deleted. */
function replacedNames(changes: Iterable<TreeChange>): Map<string, number> {
  const names = new Map<string, number>();
  for (const { before, parts } of changes) {
    if (before === undefined || parts !== undefined || before.nlink < 2) continue;
    names.set(identityKey(before), (names.get(identityKey(before)) ?? 0) + 1);
  }
  return names;
}
