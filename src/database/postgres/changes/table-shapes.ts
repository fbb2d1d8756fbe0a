import type { TableColumn, TableShape } from "../../server/clone/clone-changes.ts";
import { RECORD_SCHEMA } from "../clone/definition-record.ts";
import { literal, quotedName } from "../clone/quoting.ts";
import type { PostgresConnection } from "../postgres-connection.ts";

/**
 * Those of extensions belong to them, unless the extension says that users keep data there. The content of
 * unlogged tables is not copied.
 */
const TABLES = `SELECT c.oid::bigint, n.nspname, c.relname,
    (SELECT json_agg(json_build_object('n', a.attnum, 'name', a.attname,
       'type', pg_catalog.format_type(a.atttypid, a.atttypmod), 'generated', a.attgenerated <> '',
       'foreign', (SELECT b.typtype IN ('b', 'd') AND b.typelem = 0
           AND b.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace
         FROM pg_catalog.pg_type t JOIN pg_catalog.pg_type b ON b.oid = COALESCE(NULLIF(t.typbasetype, 0), t.oid)
         WHERE t.oid = a.atttypid))
       ORDER BY a.attnum)
     FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text,
    (SELECT array_to_json(i.indkey::int2[])::text FROM pg_catalog.pg_index i
     WHERE i.indrelid = c.oid AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
       AND i.indexprs IS NULL AND NOT EXISTS (
         SELECT 1 FROM unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) AS k(attnum)
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum WHERE NOT a.attnotnull)
     ORDER BY i.indisprimary DESC, i.indnkeyatts, i.indexrelid LIMIT 1),
    (SELECT i.indnkeyatts FROM pg_catalog.pg_index i
     WHERE i.indrelid = c.oid AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
       AND i.indexprs IS NULL AND NOT EXISTS (
         SELECT 1 FROM unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) AS k(attnum)
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum WHERE NOT a.attnotnull)
     ORDER BY i.indisprimary DESC, i.indnkeyatts, i.indexrelid LIMIT 1)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname !~ '^pg_'
    AND n.nspname NOT IN ('information_schema', ${literal(RECORD_SCHEMA)})
    AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
      WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
        AND d.refclassid = 'pg_catalog.pg_extension'::regclass AND (e.extconfig IS NULL OR NOT c.oid = ANY (e.extconfig)))
  ORDER BY n.nspname, c.relname`;

/** The tables of a database. */
export async function tableShapes(connection: PostgresConnection): Promise<TableShape[]> {
  const { rows } = await connection.run(TABLES);
  return rows.map(([, schema, name, columnsJson, keyJson, keyCount]) => {
    const columns = JSON.parse(String(columnsJson ?? "[]") || "[]") as {
      readonly n: number;
      readonly name: string;
      readonly type: string;
      readonly generated: boolean;
      readonly foreign: boolean;
    }[];
    const numbers =
      keyJson === null || keyJson === undefined ? [] : (JSON.parse(String(keyJson)) as number[]);
    const key = numbers
      .slice(0, Number(keyCount))
      .map((number) => columns.findIndex(({ n }) => n === number));
    return {
      schema: String(schema),
      name: String(name),
      columns: columns.map((column) => ({
        name: column.name,
        type: column.type,
        isGenerated: column.generated,
        kind: kindOf(column.type),
        ...(column.foreign && { isForeign: true }),
      })),
      ...(key.length > 0 && { key }),
    };
  });
}

const INTEGERS = ["smallint", "integer", "bigint", "oid"];
const REALS = /^(?:real|double precision|numeric)/;

function kindOf(type: string): TableColumn["kind"] {
  if (type === "bytea") return "bytes";
  return INTEGERS.includes(type) ? "integer" : REALS.test(type) ? "real" : "text";
}

/** The name of a table in SQL. */
export function tableName({ schema, name }: Pick<TableShape, "schema" | "name">): string {
  return `${quotedName(schema)}.${quotedName(name)}`;
}

/** These columns of a row as one text, which is the same if and only if all of their values are. */
export function rowText(alias: string, columns: readonly TableColumn[]): string {
  const values = columns.map(({ name }) => `${alias}.${quotedName(name)}`);
  return columns.length === 0 ? "'()'" : `ROW(${values.join(", ")})::text`;
}

/**
 * A value as the text that its type's own functions write and read. A cast to text may be another one: that
 * of bpchar leaves out spaces, and users can make their own.
 */
export function valueText(value: string, { type }: TableColumn): string {
  if (type === "boolean") return `${value}::text`;
  return `CASE WHEN ${value} IS DISTINCT FROM NULL THEN pg_catalog.format('%s', ${value}) END`;
}

/** Whether a column of a row equals a value that is given as text. */
export function isGiven(value: string, given: string, column: TableColumn): string {
  return column.isForeign === true
    ? `${valueText(value, column)} = ${given}`
    : `${value} = ${given}::${column.type}`;
}

/** The columns of a key; of a table without one, all. */
export function keyColumns({ columns, key }: TableShape): readonly TableColumn[] {
  return key === undefined ? columns : key.map((at) => columns[at] as TableColumn);
}
