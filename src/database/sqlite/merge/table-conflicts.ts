import type { Conflict } from "../../../core/errors/errors.ts";
import { rowsThatDiffer } from "../differences-from-base.ts";
import { escapedName, FORWARD, foreignObjects, wholeConflicts } from "../landing-conflicts.ts";
import { type ChangedTable, changedTables, recordedObjects } from "../sqlite-changes.ts";
import type { SqliteDatabase } from "../sqlite-database.ts";
import { definitionOf, HEADER_NUMBERS, headerNumber, schemaObjects } from "../sqlite-schema.ts";

/** A conflict of a whole table, or of tables that are one thing. */
export interface TableConflict extends Conflict {
  readonly tables: readonly string[];
}

/**
 * The tables of a record that can't be merged row by row, because a definition changed and the other side
 * changed the table too. `main` of the connection is the other writer's database; `base` is attached. Tables
 * in `whole` are not looked at.
 */
export function tableConflicts(
  db: SqliteDatabase,
  record: string,
  whole: ReadonlySet<string>,
): readonly TableConflict[] {
  const objects = recordedObjects(db, record);
  const tables = changedTables(db, record);
  const found = new Map<string, string>();
  for (const { type, name, table, before, after, isVirtual } of objects) {
    const owner = type === "table" ? name : table;
    const isRebuilt = type === "table" || tables.some((other) => other.name === table && other.whole);
    const now = definitionOf(db, "main", type, name);
    if (isRebuilt && !isVirtual && now !== before && now !== after)
      found.set(owner, "both sides changed its definition");
  }
  for (const { path, why } of foreignObjects(db, objects)) {
    const owner = schemaObjects(db, "main").find(({ name }) => name === path)?.table;
    if (owner !== undefined && tables.some(({ name }) => name === owner)) found.set(owner, `${path}: ${why}`);
  }
  for (const table of tables) {
    const why = whyWhole(db, record, table);
    if (why !== undefined && !found.has(table.name)) found.set(table.name, why);
  }
  const ordinary = [...found].map(([name, why]) => ({ path: escapedName(name), why, tables: [name] }));
  const all = [...withoutVirtual(db, record, ordinary), ...virtualConflicts(db, record)];
  return all.filter((conflict) => conflict.tables.some((name) => !whole.has(name)));
}

function whyWhole(db: SqliteDatabase, record: string, table: ChangedTable): string | undefined {
  if (table.whole)
    return wholeConflicts(db, record, table, FORWARD).length > 0
      ? "the plan changes its definition, and others changed its rows meanwhile"
      : undefined;
  const now = definitionOf(db, "main", "table", table.name);
  if (now === (table.before ?? table.after)?.sql) return undefined;
  return now === undefined ? "it was dropped meanwhile" : "its definition was changed meanwhile";
}

/**
 * A virtual table and the tables in which its module keeps its data are one thing: rows of two sides do not
 * fit each other.
 */
function virtualConflicts(db: SqliteDatabase, record: string): readonly TableConflict[] {
  const changed = [...changedTables(db, record), ...recordedObjects(db, record)].map(({ name }) => name);
  return virtualTables(db, record).flatMap((virtual) => {
    if (!changed.some((name) => isOf(virtual, name))) return [];
    const [base, main] = ["base", "main"].map((database) =>
      schemaObjects(db, database).filter(({ type, name }) => type === "table" && isOf(virtual, name)),
    );
    const textOf = (objects: typeof base) => objects?.map(({ name, sql }) => `${name} ${sql}`).join("\n");
    const isChanged =
      textOf(base) !== textOf(main) ||
      main?.some(({ name, isVirtual }) => !isVirtual && rowsThatDiffer(db, name).length > 0) === true;
    if (!isChanged) return [];
    const names = [...(base ?? []), ...(main ?? []), ...changedTables(db, record)].map(({ name }) => name);
    const tables = [...new Set(names.filter((name) => isOf(virtual, name)))];
    return [{ path: escapedName(virtual), why: "both sides changed this virtual table", tables }];
  });
}

function withoutVirtual(db: SqliteDatabase, record: string, conflicts: readonly TableConflict[]) {
  const virtual = virtualTables(db, record);
  return conflicts.filter(({ tables }) => !tables.some((name) => virtual.some((of) => isOf(of, name))));
}

/** The virtual tables on any side. */
export function virtualTables(db: SqliteDatabase, record: string): readonly string[] {
  const all = [...schemaObjects(db, "base"), ...schemaObjects(db, "main"), ...recordedObjects(db, record)];
  return [...new Set(all.filter(({ isVirtual }) => isVirtual).map(({ name }) => name))];
}

/** Whether a table is a virtual one, or holds its data: modules add to its name. */
export function isOf(virtual: string, name: string): boolean {
  return name === virtual || name.startsWith(`${virtual}_`);
}

/** Views, triggers, indexes and numbers that both sides changed. The plan's version can land all the same. */
export function objectConflicts(db: SqliteDatabase, record: string): readonly Conflict[] {
  const numbers = HEADER_NUMBERS.flatMap((name) => {
    const [row] = db.rows(`SELECT before, after FROM ${record}.numbers WHERE name = ?`, name);
    const now = headerNumber(db, "main", name);
    return row === undefined || row.some((value) => Number(value) === now)
      ? []
      : [{ path: name, why: `it is ${now} now` }];
  });
  const rebuilt = changedTables(db, record).filter(({ whole }) => whole);
  const objects = recordedObjects(db, record).filter(({ type, table, name, before, after }) => {
    if (type === "table" || rebuilt.some((other) => other.name === table)) return false;
    const now = definitionOf(db, "main", type, name);
    return now !== before && now !== after;
  });
  return [
    ...numbers,
    ...objects.map(({ name, type }) => ({
      path: escapedName(name),
      why: `this ${type} was changed meanwhile`,
    })),
  ];
}
