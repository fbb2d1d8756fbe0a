import type { Conflict } from "../../../core/errors/errors.ts";
import type { RowValues, TableChange } from "../../server/clone/clone-changes.ts";
import { tablePath } from "../../server/clone/row-paths.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { quotedName } from "../quoting.ts";
import { comparedLiteral } from "./exact-values.ts";
import { type MysqlColumn, type MysqlTable, tableName } from "./table-shapes.ts";

/** A foreign key: rows of one table refer to rows of another. */
export interface Reference {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly columns: readonly (readonly [from: string, to: string])[];
  /** The referring table is in another database; so is the other one. */
  readonly isFromElsewhere: boolean;
  readonly isToElsewhere: boolean;
}

const REFERENCES = `SELECT CONSTRAINT_NAME, TABLE_SCHEMA, TABLE_NAME, REFERENCED_TABLE_NAME,
    COLUMN_NAME, REFERENCED_COLUMN_NAME, TABLE_SCHEMA <> DATABASE(), REFERENCED_TABLE_SCHEMA <> DATABASE()
  FROM information_schema.KEY_COLUMN_USAGE
  WHERE REFERENCED_TABLE_NAME IS NOT NULL AND (TABLE_SCHEMA = DATABASE() OR REFERENCED_TABLE_SCHEMA = DATABASE())
  ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`;
const PAGE = 500;

/** The foreign keys of and to the tables of the database. */
export async function referencesOf(connection: MysqlConnection): Promise<Reference[]> {
  const rows = await connection.texts(REFERENCES);
  const grouped = Map.groupBy(rows, ([name, schema, table]) => JSON.stringify([name, schema, table]));
  return [...grouped.values()].map((parts) => {
    const [name, schema, from, to, , , isFromElsewhere, isToElsewhere] = parts[0] ?? [];
    return {
      name: String(name),
      from:
        isFromElsewhere === "1" ? `${quotedName(String(schema))}.${quotedName(String(from))}` : String(from),
      to: String(to),
      columns: parts.map((row) => [String(row[4]), String(row[5])] as const),
      isFromElsewhere: isFromElsewhere === "1",
      isToElsewhere: isToElsewhere === "1",
    };
  });
}

/**
 * The references that do not hold after all rows were written. The rows on both sides are locked until the
 * transaction ends, so that no other session can break them.
 */
export async function brokenReferences(
  connection: MysqlConnection,
  tables: readonly (TableChange & MysqlTable)[],
  references: readonly Reference[],
): Promise<Conflict[]> {
  const conflicts: Conflict[] = [];
  for (const reference of references) {
    const from = reference.isFromElsewhere ? undefined : tables.find(({ name }) => name === reference.from);
    const to = reference.isToElsewhere ? undefined : tables.find(({ name }) => name === reference.to);
    if (from !== undefined) conflicts.push(...(await withoutTarget(connection, from, reference)));
    if (to !== undefined) conflicts.push(...(await leftBehind(connection, to, reference)));
  }
  return conflicts;
}

/** Rows that came or changed, and refer to nothing. */
async function withoutTarget(
  connection: MysqlConnection,
  table: TableChange & MysqlTable,
  { to, columns }: Reference,
): Promise<Conflict[]> {
  const own = columns.map(([from]) => columnAt(table, from));
  const values = distinct(
    table,
    table.rows.map(({ after }) => after),
    own,
  ).filter((each) => !each.includes("NULL"));
  for (let at = 0; at < values.length; at += PAGE) {
    const page = values.slice(at, at + PAGE);
    const given = page.map((each) => `SELECT ${each.map((value, n) => `${value} AS v${n}`).join(", ")}`);
    const same = columns.map(([, target], n) => `parent.${quotedName(target)} = given.v${n}`);
    // Each look locks the row that it finds.
    const [missing] = await connection.texts(
      `SELECT COUNT(*) FROM (${given.join(" UNION ALL ")}) AS given LEFT JOIN ${tableName({ name: to })} AS parent
       ON ${same.join(" AND ")} WHERE parent.${quotedName(columns[0]?.[1] ?? "")} IS NULL LOCK IN SHARE MODE`,
    );
    if (missing?.[0] !== "0")
      return [
        {
          path: tablePath(table),
          why: `another session has deleted rows of ${to} that rows of the plan refer to`,
        },
      ];
  }
  return [];
}

/** Rows of other sessions that refer to what is gone. */
async function leftBehind(
  connection: MysqlConnection,
  table: TableChange & MysqlTable,
  { from, columns, isFromElsewhere }: Reference,
): Promise<Conflict[]> {
  const own = columns.map(([, to]) => columnAt(table, to));
  const values = distinct(
    table,
    table.rows.map(({ before }) => before),
    own,
  ).filter((each) => !each.includes("NULL"));
  const child = isFromElsewhere ? from : tableName({ name: from });
  for (let at = 0; at < values.length; at += PAGE) {
    const given = values.slice(at, at + PAGE).map((each) => `(${each.join(", ")})`);
    const referring = columns.map(([name]) => `child.${quotedName(name)}`);
    const same = columns.map(([name, to]) => `parent.${quotedName(to)} = child.${quotedName(name)}`);
    const [left] = await connection.texts(
      `SELECT COUNT(*) FROM ${child} AS child LEFT JOIN ${tableName(table)} AS parent ON ${same.join(" AND ")}
       WHERE (${referring.join(", ")}) IN (${given.join(", ")})
         AND parent.${quotedName(columns[0]?.[1] ?? "")} IS NULL LOCK IN SHARE MODE`,
    );
    if (left?.[0] !== "0")
      return [
        {
          path: tablePath(table),
          why: `${left?.[0]} rows of ${from} that the plan does not delete refer to rows that it deletes`,
        },
      ];
  }
  return [];
}

function columnAt({ columns, name }: MysqlTable, wanted: string): number {
  const at = columns.findIndex((column) => column.name.toLowerCase() === wanted.toLowerCase());
  if (at < 0) throw new Error(`The table ${name} has no column ${wanted}.`);
  return at;
}

/** Different values of these columns, as SQL writes them. */
function distinct(
  { columns }: MysqlTable,
  rows: readonly (RowValues | undefined)[],
  at: readonly number[],
): string[][] {
  const found = new Map<string, string[]>();
  for (const row of rows) {
    if (row === undefined) continue;
    const written = at.map((n) => comparedLiteral(columns[n] as MysqlColumn, row[n] ?? null));
    found.set(JSON.stringify(written), written);
  }
  return [...found.values()];
}
