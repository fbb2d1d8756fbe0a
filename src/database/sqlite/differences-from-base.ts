import type { Conflict } from "../../core/errors/errors.ts";
import { rowsChanged } from "./landing-conflicts.ts";
import { identityOf, lacksKey, rowsOf } from "./row-comparison.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import {
  HEADER_NUMBERS,
  headerNumber,
  type SchemaObject,
  schemaObjects,
  tableShape,
} from "./sqlite-schema.ts";

/** All differences between `base` and `main` of the connection: definitions, rows and numbers. */
export function differencesFromBase(db: SqliteDatabase): Conflict[] {
  const [base, main] = [schemaObjects(db, "base"), schemaObjects(db, "main")];
  const keyOf = ({ type, name, sql }: SchemaObject) => `${type} ${name} ${sql}`;
  const notIn = (side: readonly SchemaObject[], other: readonly SchemaObject[]) => {
    const known = new Set(other.map(keyOf));
    return side.filter((object) => !known.has(keyOf(object)));
  };
  const conflicts: Conflict[] = [
    ...notIn(main, base).map(({ name, type }) => ({
      path: name,
      why: `this ${type} was created or changed meanwhile`,
    })),
    ...notIn(base, main).map(({ name, type }) => ({
      path: name,
      why: `this ${type} was dropped or changed meanwhile`,
    })),
    ...HEADER_NUMBERS.filter((name) => headerNumber(db, "base", name) !== headerNumber(db, "main", name)).map(
      (name) => ({ path: name, why: "it was changed meanwhile" }),
    ),
  ];
  if (conflicts.length > 0) return conflicts;
  return main
    .filter(({ type, isVirtual }) => type === "table" && !isVirtual)
    .flatMap(({ name }) => rowsThatDiffer(db, name));
}

/** The rows of a table that differ between `base` and `main`, which define it alike. */
export function rowsThatDiffer(db: SqliteDatabase, name: string): Conflict[] {
  const shape = tableShape(db, "base", name);
  const lacking = lacksKey(shape);
  const [base, main] = [rowsOf("base", shape), rowsOf("main", shape)];
  const hasNone =
    lacking !== undefined &&
    [base, main].some(
      ({ from }) => db.number(`SELECT EXISTS (SELECT 1 FROM ${from} WHERE ${lacking})`) === 1,
    );
  const identity = identityOf(shape, hasNone);
  if (identity === undefined) return [];
  const recorded = { ...shape, identity, sql: "" };
  return rowsChanged(db, { now: main, before: base, shape: recorded, name });
}
