import { type Conflict, messageOf } from "../../../core/errors/errors.ts";
import { ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { Resolution } from "../../../core/values/merge.ts";
import { differencesFromBase } from "../differences-from-base.ts";
import { brokenIn, brokenReferences, referringTables } from "../foreign-keys.ts";
import { escapedName, FORWARD } from "../landing-conflicts.ts";
import { changedTables, recordedObjects } from "../sqlite-changes.ts";
import { SqliteDatabase } from "../sqlite-database.ts";
import { constrainedTable, SQLITE, sqliteCode } from "../sqlite-errors.ts";
import { landRecord } from "../sqlite-landing.ts";
import { leaveOut } from "./record-part.ts";
import { referenceConflicts } from "./reference-conflicts.ts";
import { mergeRows } from "./row-merge.ts";
import { isOf, objectConflicts, tableConflicts, virtualTables } from "./table-conflicts.ts";

/**
 * Merges the changes of a plan with those of another writer. The record (sqlite-changes.ts) of what the plan
 * changed lands in a copy of the other writer's database; rows that both changed are merged in the record
 * first (row-merge.ts). In the merged database, conflicts have the plan's version.
 *
 * A table that can't be merged row by row is recorded whole, so that the plan's version of it can take the
 * place of the other. A merged row that breaks a constraint is a conflict instead. What has to be done in
 * another way is found on the way, and then everything begins again.
 */
export interface MergedFiles {
  /** A copy of the other writer's database, which becomes the merged one. */
  readonly merged: string;
  /** The other writer's database, which stays. */
  readonly theirs: string;
  readonly base: string;
  readonly own: string;
  readonly record: string;
}

/** The word of a user on one conflict. */
export interface ResolvedConflict {
  readonly path: string;
  readonly how: Exclude<Resolution, "keep-both">;
}

export interface MergeResult {
  /** What both sides changed and the merged database has from both. */
  readonly merged: readonly string[];
  readonly conflicts: readonly Conflict[];
  /** Nothing could be merged: the plan's changes do not fit the other writer's. */
  readonly isRefused: boolean;
}

/** What earlier tries have found. */
interface Findings {
  /** The tables whose version of the plan replaces the other one, and the conflict of each. */
  readonly whole: ReadonlyMap<string, Conflict>;
  /** The tables whose rows are not merged by column. */
  readonly apart: ReadonlySet<string>;
}

const RECORD = "record";

/** `makeRecord` records what the plan changed anew, with these tables whole. */
export function mergeDatabase(
  files: MergedFiles,
  makeRecord: (whole: ReadonlySet<string>) => void,
  settled?: ResolvedConflict,
): MergeResult {
  let findings: Findings = { whole: new Map(), apart: new Set() };
  for (;;) {
    makeRecord(new Set(findings.whole.keys()));
    const result = new Merging(files, findings, settled).merge();
    if ("conflicts" in result) return result;
    findings = result;
  }
}

class Merging {
  readonly #files: MergedFiles;
  readonly #findings: Findings;
  readonly #settled: ResolvedConflict | undefined;

  constructor(files: MergedFiles, findings: Findings, settled: ResolvedConflict | undefined) {
    this.#files = files;
    this.#findings = findings;
    this.#settled = settled;
  }

  /** Merges, or says what to do in another way. Then the files are as before. */
  merge(): MergeResult | Findings {
    const { merged, record, base } = this.#files;
    using db = new SqliteDatabase(merged, "write");
    db.attach(record, "write", RECORD);
    db.attach(base, "frozen", "base");
    db.exec("PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON");
    db.ignoreTriggers();
    db.exec("BEGIN");
    const result = this.#mergeIn(db);
    db.exec("conflicts" in result && !result.isRefused ? "COMMIT" : "ROLLBACK");
    return result;
  }

  #mergeIn(db: SqliteDatabase): MergeResult | Findings {
    if (this.#settled?.how === "theirs") this.#leaveOutSettled(db, this.#settled.path);
    const { whole, apart } = this.#findings;
    const tables = tableConflicts(db, RECORD, new Set(whole.keys()));
    if (tables.length > 0) return this.#whole(tables);
    const conflicts: Conflict[] = [...new Set(whole.values()), ...objectConflicts(db, RECORD)];
    const merged = [...otherChanges(db)];
    const joined: string[] = [];
    for (const table of changedTables(db, RECORD).filter((changed) => !changed.whole)) {
      const rows = mergeRows(db, RECORD, table, apart.has(table.name));
      if (rows.why !== undefined)
        return this.#whole([{ path: escapedName(table.name), why: rows.why, tables: [table.name] }]);
      if (rows.merged.length > 0) joined.push(table.name);
      merged.push(...rows.merged);
      conflicts.push(...rows.conflicts);
    }
    const refusal = this.#land(db, conflicts);
    if (refusal !== undefined) return refusal;
    const broken = this.#newlyBroken(db);
    conflicts.push(...referenceConflicts(db, RECORD, broken));
    const violations = this.#violations(db);
    const isBreaking = (name: string) => violations.some((line) => line.endsWith(` in ${name}`));
    const breaking = joined.filter((name) => !apart.has(name) && isBreaking(name));
    if (breaking.length > 0) return { whole, apart: new Set([...apart, ...breaking]) };
    if (violations.length > 0)
      return this.#refused(conflicts, { path: ROOT_PATH, why: `together they break it: ${violations[0]}` });
    return { ...this.#open(conflicts, merged), isRefused: false };
  }

  #whole(
    conflicts: readonly { readonly path: string; readonly why: string; readonly tables: readonly string[] }[],
  ): Findings {
    const { whole, apart } = this.#findings;
    const more = conflicts.flatMap(({ path, why, tables }) => {
      const conflict = { path, why };
      return tables.map((name) => [name, conflict] as const);
    });
    return { whole: new Map([...whole, ...more]), apart };
  }

  #leaveOutSettled(db: SqliteDatabase, settled: string): void {
    const isVirtual = virtualTables(db, RECORD).some((name) => escapedName(name) === settled);
    leaveOut(
      db,
      RECORD,
      FORWARD,
      (path) => settled === ROOT_PATH || path === settled || (isVirtual && isOf(settled, path)),
    );
  }

  /** Lands the record in the other writer's database. Returns what to do if that is not possible. */
  #land(db: SqliteDatabase, conflicts: readonly Conflict[]): MergeResult | Findings | undefined {
    this.#brokenBefore = new Set(brokenReferences(db, "main", referringTables(db, RECORD)).keys());
    try {
      landRecord(db, RECORD, FORWARD);
      return undefined;
    } catch (thrown) {
      const code = sqliteCode(thrown);
      if (code !== SQLITE.CONSTRAINT && code !== SQLITE.ERROR) throw thrown;
      const table = code === SQLITE.CONSTRAINT ? constrainedTable(thrown) : ROOT_PATH;
      const why = `${messageOf(thrown)}, together with what was changed meanwhile`;
      const conflict = { path: table === ROOT_PATH ? table : escapedName(table), why };
      const isOurs = this.#settled?.how === "ours" && this.#settled.path === conflict.path;
      const canBeWhole = table !== ROOT_PATH && !this.#findings.whole.has(table);
      return isOurs && canBeWhole
        ? this.#whole([{ ...conflict, tables: [table] }])
        : this.#refused(conflicts, conflict);
    }
  }

  #brokenBefore: ReadonlySet<string> = new Set();

  /** References that neither side has broken alone. */
  #newlyBroken(db: SqliteDatabase) {
    const tables = referringTables(db, RECORD);
    const broken = brokenReferences(db, "main", tables);
    for (const key of this.#brokenBefore) broken.delete(key);
    if (broken.size > 0) for (const key of brokenIn(this.#files.own, tables)) broken.delete(key);
    return broken.values();
  }

  /** What is wrong with the merged database, and with neither side alone. */
  #violations(db: SqliteDatabase): readonly string[] {
    db.exec("PRAGMA ignore_check_constraints = OFF");
    const found = problemsOf(db);
    if (found.length === 0) return [];
    using theirs = new SqliteDatabase(this.#files.theirs, "frozen");
    using own = new SqliteDatabase(this.#files.own, "write");
    const known = new Set([...problemsOf(theirs), ...problemsOf(own)]);
    return found.filter((problem) => !known.has(problem));
  }

  #refused(conflicts: readonly Conflict[], more: Conflict): MergeResult {
    return { ...this.#open([...conflicts, more], []), isRefused: true };
  }

  /** Without the conflict that the user has settled. */
  #open(conflicts: readonly Conflict[], merged: readonly string[]) {
    const byPath = new Map(conflicts.map((conflict) => [conflict.path, conflict]));
    const isInConflict = (path: string) =>
      [ROOT_PATH, path, path.split("/", 1)[0] ?? path].some((other) => byPath.has(other));
    const both = [...new Set(merged)].filter((path) => !isInConflict(path));
    if (this.#settled !== undefined) byPath.delete(this.#settled.path);
    return { merged: both, conflicts: [...byPath.values()] };
  }
}

/**
 * Where the plan changes definitions, its landing refuses every other change since the base. So all of these
 * count as merged.
 */
function otherChanges(db: SqliteDatabase): readonly string[] {
  const isDefining = recordedObjects(db, RECORD).some(({ before, after }) => before !== after);
  return isDefining ? differencesFromBase(db).map(({ path }) => path) : [];
}

function problemsOf(db: SqliteDatabase): string[] {
  return db
    .rows("PRAGMA main.integrity_check")
    .map(([line]) => String(line))
    .filter((line) => line !== "ok");
}
