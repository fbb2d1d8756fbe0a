import type { ExactPart } from "../../core/change.ts";
import {
  type Conflict,
  messageOf,
  SandboxConflictError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { displayPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Resolution, UpdateReport } from "../../core/values/merge.ts";
import { brokenReferences, referringTables } from "../../database/sqlite/foreign-keys.ts";
import { BACKWARD, escapedName } from "../../database/sqlite/landing-conflicts.ts";
import {
  type MergeResult,
  mergeDatabase,
  type ResolvedConflict,
} from "../../database/sqlite/merge/database-merge.ts";
import { leaveOut } from "../../database/sqlite/merge/record-part.ts";
import { isOf, virtualTables } from "../../database/sqlite/merge/table-conflicts.ts";
import type { Patience, SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import { SQLITE, sqliteCode } from "../../database/sqlite/sqlite-errors.ts";
import { landRecord } from "../../database/sqlite/sqlite-landing.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { isThere } from "../../system/data/existence.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { copyFileInTurns } from "./file-copy.ts";
import { recordWork, sqliteDiff } from "./sqlite-diff.ts";
import { noteMerge, type OpenConflict, openConflicts } from "./sqlite-merges.ts";
import { NEXT, type SqliteSandbox } from "./sqlite-sandbox.ts";
import { copyLiveDatabase } from "./sqlite-source.ts";

/**
 * # An update of a sandbox of a SQLite database
 *
 * The caller has made a checkpoint, to which a failure or a crash leads back. The order of writes:
 *
 * 1. `next-base.db`: the original as it is now. `next-own.db`: a copy of it, in which the work of the plan is
 *    merged (database/sqlite/merge/database-merge.ts).
 * 2. `next-base.db` becomes the base, and `next-own.db` the copy for programs.
 * 3. `merges` has the conflicts that are left, and the work can't land as long as there are any.
 *
 * If nothing could be merged, only step 1 is done, and its files go again.
 */
const POINTS = { build: failpoint("sqlite.merge"), takeOut: failpoint("sqlite.take-out") };
const RECORD = "record";

export async function updateDatabase(sandbox: SqliteSandbox, patience: Patience): Promise<UpdateReport> {
  const open = unresolvedConflicts(sandbox);
  try {
    const { merged, conflicts, isRefused } = await mergeNext(sandbox, patience);
    const unmerged = withEarlier(conflicts, open);
    const isOpen = new Set(unmerged.map(({ path }) => path));
    const both = isRefused ? [] : merged.filter((path) => !isOpen.has(path));
    if (both.length > 0) takeNext(sandbox, unmerged);
    return { merged: both, marked: [], unmerged };
  } finally {
    sandbox.removeNext();
  }
}

/** Settles one conflict by the user's word, and merges what else can be merged. */
export async function resolveConflict(
  sandbox: SqliteSandbox,
  path: string,
  how: Resolution,
  patience: Patience,
): Promise<void> {
  if (how === "keep-both")
    throw new UsageError("A row or a definition of a database can't be kept twice.", {
      hint: "Choose ours or theirs, or change the plan's version in the sandbox.",
    });
  const open = unresolvedConflicts(sandbox);
  try {
    const found = withEarlier((await mergeNext(sandbox, patience)).conflicts, open);
    if (!found.some((conflict) => conflict.path === path))
      throw new UsageError(`${displayPath(path)} is not in conflict.`, { code: "NOT_IN_CONFLICT" });
    const { conflicts, isRefused } = await mergeNext(sandbox, patience, { path, how });
    if (isRefused) throw new SandboxConflictError(conflicts);
    const earlier = open.filter((conflict) => conflict.path !== path);
    takeNext(sandbox, withEarlier(conflicts, earlier));
  } finally {
    sandbox.removeNext();
  }
}

/** Conflicts of earlier updates in which the plan's version is still what it was then. */
export function unresolvedConflicts(sandbox: SqliteSandbox): readonly OpenConflict[] {
  const open = openConflicts(sandbox.workspace);
  if (open.length === 0) return [];
  const stateAt = changesOf(sandbox);
  return open.filter(({ path, state }) => stateAt(path) === state);
}

/** Refuses to land conflicts that no user has settled. */
export function assertResolved(sandbox: SqliteSandbox): void {
  const open = unresolvedConflicts(sandbox).map(({ path, why }) => ({ path, why }));
  if (open.length === 0) return;
  const more = open.length > 1 ? ` and ${open.length - 1} more` : "";
  throw new SandboxConflictError(open, {
    message: `An update could not merge ${open[0]?.path}${more}, and no word has settled it.`,
  });
}

/** Takes rows and definitions out of the work: there, the copy is as its base again. */
export function takeOutOfDatabase(sandbox: SqliteSandbox, { paths }: ExactPart): void {
  const stateAt = changesOf(sandbox);
  const missing = paths.find((path) => stateAt(path) === undefined);
  if (missing !== undefined)
    throw new UsageError(`The plan no longer changes ${displayPath(missing)} in this way.`, {
      hint: "See the diff of the plan.",
      code: "NO_MATCH",
    });
  // Of a table that only has changed rows, each row is chosen on its own.
  const chosen = new Set(paths.flatMap((path) => [path, path.split("/", 1)[0] ?? path]));
  try {
    recordNext(sandbox);
    passFailpoint(POINTS.takeOut);
    using db = sandbox.open();
    db.attach(sandbox.workspace.label(NEXT.record), "write", RECORD);
    db.exec("PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON");
    db.ignoreTriggers();
    db.exec("BEGIN IMMEDIATE");
    leaveOut(db, RECORD, BACKWARD, (path) => !chosen.has(path));
    landBack(db);
    db.exec("COMMIT");
  } finally {
    sandbox.removeNext();
  }
  const stateNow = changesOf(sandbox);
  const left = paths.find((path) => stateNow(path) !== undefined);
  if (left !== undefined) throw notAlone(`${displayPath(left)} is still there`);
}

function landBack(db: SqliteDatabase): void {
  const broken = () => brokenReferences(db, "main", referringTables(db, RECORD));
  const before = broken();
  try {
    landRecord(db, RECORD, BACKWARD);
  } catch (thrown) {
    if (sqliteCode(thrown) !== SQLITE.CONSTRAINT && sqliteCode(thrown) !== SQLITE.ERROR) throw thrown;
    throw notAlone(messageOf(thrown), thrown);
  }
  const [fresh] = [...broken()].filter(([key]) => !before.has(key));
  if (fresh !== undefined)
    throw notAlone(`a row of ${fresh[1].table} would refer to a missing row of ${fresh[1].parent}`);
}

function notAlone(why: string, cause?: unknown): UnsupportedError {
  return new UnsupportedError(`These changes can't be taken out of the plan alone: ${why}.`, {
    hint: "Choose what belongs to them too, or change it in the sandbox.",
    code: "NO_PARTS",
    cause,
  });
}

/** Builds the files of an update. */
async function mergeNext(
  sandbox: SqliteSandbox,
  patience: Patience,
  settled?: ResolvedConflict,
): Promise<MergeResult> {
  const { workspace, location, path, basePath } = sandbox;
  if (!isThere(location))
    return { merged: [], conflicts: [{ path: ROOT_PATH, why: "the original was deleted" }], isRefused: true };
  sandbox.removeNext();
  await copyLiveDatabase(location, workspace, NEXT.base, patience);
  const [from, to] = [NEXT.base, NEXT.own].map((name) => ({ folder: workspace, name }));
  if (from !== undefined && to !== undefined) await copyFileInTurns(POINTS.build, from, to, patience.signal);
  const files = {
    merged: workspace.label(NEXT.own),
    theirs: workspace.label(NEXT.base),
    base: basePath,
    own: path,
    record: workspace.label(NEXT.record),
  };
  return mergeDatabase(files, (whole) => recordNext(sandbox, whole), settled);
}

function recordNext(sandbox: SqliteSandbox, whole?: ReadonlySet<string>): void {
  const { workspace } = sandbox;
  removeTree(POINTS.build, workspace, NEXT.record);
  recordWork(sandbox, workspace.label(NEXT.record), whole);
}

function takeNext(sandbox: SqliteSandbox, unmerged: readonly Conflict[]): void {
  sandbox.takeNext();
  const stateAt = unmerged.length === 0 ? () => undefined : changesOf(sandbox);
  const open = unmerged.map(({ path, why }) => ({ path, why, state: stateAt(path) ?? "" }));
  noteMerge(sandbox.workspace, open);
}

/**
 * The state of the plan's version at a path: its digest, "deleted", or "changed" for a table whose rows
 * change; undefined if the plan changes nothing there.
 */
function changesOf(sandbox: SqliteSandbox): (path: string) => string | undefined {
  using db = sandbox.openWithBase();
  const { changes } = sqliteDiff(db, sandbox.basePath);
  const states = new Map(changes.map(({ path, after }) => [path, after?.digest ?? "deleted"]));
  const tables = new Set(changes.map(({ path }) => path.split("/", 1)[0] ?? path));
  const virtual = new Set(virtualTables(db, "out").map(escapedName));
  return (path) => {
    const isChanged =
      tables.has(path) || (virtual.has(path) && [...tables].some((table) => isOf(path, table)));
    return states.get(path) ?? (isChanged ? "changed" : undefined);
  };
}

function withEarlier(conflicts: readonly Conflict[], earlier: readonly Conflict[]): readonly Conflict[] {
  return [...new Map([...earlier, ...conflicts].map(({ path, why }) => [path, { path, why }])).values()];
}
