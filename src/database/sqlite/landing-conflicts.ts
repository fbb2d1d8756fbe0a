import type { Conflict } from "../../core/errors/errors.ts";
import type { DatabaseValue } from "../../core/values/query.ts";
import { shortDigest } from "../../system/data/short-digest.ts";
import { valueText } from "../common/row-json.ts";
import { isMissingIn, type Rows, rowsOf, sameIdentity, sameValues } from "./row-comparison.ts";
import {
  type ChangedObject,
  type ChangedTable,
  changedTables,
  type RecordedShape,
  recordedObjects,
  recordedRows,
  type Side,
} from "./sqlite-changes.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { definitionOf, HEADER_NUMBERS, headerNumber, schemaObjects } from "./sqlite-schema.ts";

/**
 * Finds what another writer has changed: the parts of a database that are on neither side of a record. `main`
 * of the connection is the database; `record` is the name under which the record is attached. The direction
 * says from which side to which the record lands.
 */
export interface Direction {
  readonly from: Side;
  readonly to: Side;
}

export const FORWARD: Direction = { from: "before", to: "after" };
export const BACKWARD: Direction = { from: "after", to: "before" };

/** People do not read more. */
const MOST_NAMED = 100;
const LONGEST_KEY = 100;

export function findConflicts(db: SqliteDatabase, record: string, direction: Direction): Conflict[] {
  const conflicts = [...schemaConflicts(db, record, direction)];
  for (const table of changedTables(db, record)) {
    if (conflicts.length >= MOST_NAMED) break;
    conflicts.push(
      ...(table.whole
        ? wholeConflicts(db, record, table, direction)
        : rowConflicts(db, record, table)(direction)),
    );
  }
  return conflicts.slice(0, MOST_NAMED);
}

/** Definitions and numbers that are on neither side. */
function schemaConflicts(db: SqliteDatabase, record: string, { from, to }: Direction): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const name of HEADER_NUMBERS) {
    const [row] = db.rows(`SELECT ${from}, ${to} FROM ${record}.numbers WHERE name = ?`, name);
    const now = headerNumber(db, "main", name);
    if (row !== undefined && !row.some((value) => Number(value) === now))
      conflicts.push({ path: name, why: `it is ${now} now` });
  }
  const objects = recordedObjects(db, record);
  for (const object of objects) {
    const now = definitionOf(db, "main", object.type, object.name);
    if (now !== object[from] && now !== object[to])
      conflicts.push({ path: object.name, why: `this ${object.type} was changed meanwhile` });
  }
  return [...conflicts, ...foreignObjects(db, objects)];
}

/**
 * Objects that another writer has added to a table that will be dropped or rebuilt. They would go with it.
 */
export function foreignObjects(db: SqliteDatabase, objects: readonly ChangedObject[]): Conflict[] {
  const owners = new Set(
    objects.filter(({ type }) => type === "table" || type === "view").map(({ name }) => name),
  );
  return schemaObjects(db, "main")
    .filter(({ table, name }) => owners.has(table) && name !== table)
    .filter((found) => !objects.some(({ type, name }) => type === found.type && name === found.name))
    .map(({ name, type, table }) => ({ path: name, why: `this ${type} of ${table} was created meanwhile` }));
}

/** A table that will be dropped or rebuilt must hold exactly the recorded rows. */
export function wholeConflicts(
  db: SqliteDatabase,
  record: string,
  table: ChangedTable,
  { from, to }: Direction,
): Conflict[] {
  const now = definitionOf(db, "main", "table", table.name);
  const side = now === table[from]?.sql ? from : to;
  const shape = table[side];
  if (now === undefined || shape === undefined || now !== shape.sql) return [];
  const [live, recorded] = [rowsOf("main", shape), recordedRows(record, side, table.n, shape)];
  return [...rowsChanged(db, { now: live, before: recorded, shape, name: table.name })];
}

interface ComparedRows {
  readonly now: Rows;
  readonly before: Rows;
  readonly shape: RecordedShape;
  readonly name: string;
}

/** The rows that a table has now and did not have before, or the other way round. */
export function rowsChanged(db: SqliteDatabase, { now, before, shape, name }: ComparedRows): Conflict[] {
  const onlyIn = (left: Rows, right: Rows, why: string): Conflict[] => {
    const condition = isMissingIn("this", left, right, shape.identity);
    const rows = db.rows(
      `SELECT ${keyOf("this", left, shape)} FROM ${left.from} AS this WHERE ${condition} LIMIT ${MOST_NAMED}`,
    );
    return rows.map((key) => ({ path: rowPath(name, key), why }));
  };
  return [
    ...onlyIn(now, before, "this row was added or changed meanwhile"),
    ...onlyIn(before, now, "this row was deleted or changed meanwhile"),
  ];
}

/** Rows that are on neither side of the record. */
export function rowConflicts(db: SqliteDatabase, record: string, table: ChangedTable) {
  return (direction: Direction): Conflict[] => {
    const shape = table.before ?? table.after;
    if (shape === undefined) return [];
    const now = definitionOf(db, "main", "table", table.name);
    if (now !== shape.sql) {
      const why = now === undefined ? "this table was dropped meanwhile" : "this table was altered meanwhile";
      return [{ path: table.name, why }];
    }
    const conditions = conflictConditions(record, table, shape, direction);
    const named = (side: Side, condition: string, why: string) =>
      db
        .rows(
          `SELECT ${keyOf("this", recordedRows(record, side, table.n, shape), shape)} FROM ${record}.${side}_${table.n} AS this WHERE ${condition} LIMIT ${MOST_NAMED}`,
        )
        .map((key) => ({ path: rowPath(table.name, key), why }));
    return [
      ...named(direction.from, conditions.from, "this row was changed or deleted meanwhile"),
      ...named(direction.to, conditions.to, "a row with this key was added meanwhile"),
    ];
  };
}

/** Conditions on a row `this` of the record, which hold if another writer has changed that row. */
export function conflictConditions(
  record: string,
  { n }: ChangedTable,
  shape: RecordedShape,
  { from, to }: Direction,
) {
  const live = rowsOf("main", shape);
  const [old, fresh] = [recordedRows(record, from, n, shape), recordedRows(record, to, n, shape)];
  const { identity } = shape;
  const hasFresh = `EXISTS (SELECT 1 FROM ${fresh.from} AS f WHERE ${sameIdentity(["f", fresh], ["this", old], identity)})`;
  const isFresh = `EXISTS (SELECT 1 FROM ${fresh.from} AS f JOIN ${live.from} AS o ON ${sameIdentity(["o", live], ["f", fresh], identity)}
    WHERE ${sameIdentity(["f", fresh], ["this", old], identity)} AND ${sameValues("o", live, "f", fresh)})`;
  const isGone = `NOT EXISTS (SELECT 1 FROM ${live.from} AS o WHERE ${sameIdentity(["o", live], ["this", old], identity)})`;
  return {
    from: `${isMissingIn("this", old, live, identity)} AND NOT CASE WHEN ${hasFresh} THEN ${isFresh} ELSE ${isGone} END`,
    to: `NOT EXISTS (SELECT 1 FROM ${old.from} AS f WHERE ${sameIdentity(["f", old], ["this", fresh], identity)})
      AND EXISTS (SELECT 1 FROM ${live.from} AS o WHERE ${sameIdentity(["o", live], ["this", fresh], identity)}
        AND NOT (${sameValues("o", live, "this", fresh)}))`,
  };
}

/** The columns that identify a row. */
export function keyOf(alias: string, rows: Rows, { identity }: RecordedShape): string {
  if (identity === "rowid") return `${alias}.${rows.rowid}`;
  return identity.map(({ at }) => `${alias}.${rows.columns[at]}`).join(", ");
}

/**
 * The name of a row in diffs and conflicts: `table/key`, with commas between several columns. A long key is
 * cut, and has a part of its digest instead of its end, so that no two rows have one name.
 */
export function rowPath(table: string, key: readonly DatabaseValue[]): string {
  const text = key.map((value) => escapedName(valueText(value))).join(",");
  const isLong = text.length > LONGEST_KEY;
  return `${escapedName(table)}/${isLong ? `${text.slice(0, LONGEST_KEY)}…${shortDigest(text).slice(0, 16)}` : text}`;
}

/** A name as a part of a path. */
export function escapedName(text: string): string {
  return text.replace(/[%/,\u0000-\u001f\u007f]/g, (character) => encodeURIComponent(character));
}
