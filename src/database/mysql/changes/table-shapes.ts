import { UnsupportedError } from "../../../core/errors/errors.ts";
import type { TableColumn, TableShape } from "../../server/clone/clone-changes.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { quotedName } from "../quoting.ts";

/** A column, with what decides how its values are written. */
export interface MysqlColumn extends TableColumn {
  /** "int", "varchar" … */
  readonly base: string;
  /** Of a text. */
  readonly stored?: { readonly characterSet: string; readonly collation: string };
}

export interface MysqlTable extends TableShape {
  readonly columns: readonly MysqlColumn[];
}

/** A table of a database, with what may keep its rows from landing. */
export interface FoundTable extends MysqlTable {
  /** Why no rows can land in it. */
  readonly whyNot?: string;
  /** Its rows are only in the memory of the server. They are neither copied nor compared. */
  readonly isForgotten: boolean;
}

const TABLES = `SELECT t.TABLE_NAME, t.ENGINE, t.TABLE_TYPE, COALESCE(e.TRANSACTIONS, 'NO'), COALESCE(e.XA, 'NO')
  FROM information_schema.TABLES t LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE
  WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1`;
const COLUMNS = `SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME,
    GENERATION_EXPRESSION IS NOT NULL AND GENERATION_EXPRESSION <> ''
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION`;
/** Unique indexes over whole columns that are short and never NULL; the best of a table comes first. */
const KEYS = `SELECT s.TABLE_NAME, s.INDEX_NAME,
    CONCAT('[', GROUP_CONCAT(c.ORDINAL_POSITION - 1 ORDER BY s.SEQ_IN_INDEX), ']')
  FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c
    ON c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME
  WHERE s.TABLE_SCHEMA = DATABASE() AND s.NON_UNIQUE = 0
  GROUP BY s.TABLE_NAME, s.INDEX_NAME
  HAVING SUM(s.SUB_PART IS NOT NULL OR c.IS_NULLABLE <> 'NO' OR c.DATA_TYPE REGEXP 'text|blob|json') = 0
  ORDER BY s.TABLE_NAME, s.INDEX_NAME <> 'PRIMARY', COUNT(*), s.INDEX_NAME`;

const INTEGERS = ["tinyint", "smallint", "mediumint", "int", "bigint"];
const REALS = ["decimal", "float", "double"];
const MOMENTS = ["date", "time", "datetime", "timestamp"];
const NUMBERS = [...INTEGERS, ...REALS, "year"];
const ADDRESSES = ["uuid", "inet4", "inet6"];
const SHAPES = [
  ...["geometry", "point", "linestring", "polygon"],
  ...["multipoint", "multilinestring", "multipolygon", "geometrycollection"],
];
const BYTES = ["binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit", ...SHAPES];
const TEXTS = ["char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"];
const KNOWN = [...NUMBERS, ...MOMENTS, ...ADDRESSES, ...BYTES, ...TEXTS];
/** What is stored in these is UTF-8. */
const UTF8 = ["utf8mb4", "utf8mb3", "utf8", "ascii"];

/** The tables of the database of a connection, without marks of ours. */
export async function tableShapes(connection: MysqlConnection): Promise<FoundTable[]> {
  const columns = Map.groupBy(await connection.texts(COLUMNS), ([table]) => String(table));
  const keys = Map.groupBy(await connection.texts(KEYS), ([table]) => String(table));
  const tables = await connection.texts(TABLES);
  return tables
    .filter(([name]) => !isMarkerTable(String(name)))
    .map(([name, engine, type, transactions, xa]) => {
      const own = (columns.get(String(name)) ?? []).map(columnOf);
      const [key] = keys.get(String(name)) ?? [];
      const unknown = own.find(({ base }) => !KNOWN.includes(base));
      if (unknown !== undefined)
        throw new UnsupportedError(
          `The table ${name} has the column ${unknown.name} of the type ${unknown.type}, which is not known.`,
          { hint: "Use transaction_rollback for this database." },
        );
      const whyNot =
        type === "SYSTEM VERSIONED"
          ? "it keeps its old rows by itself"
          : (transactions !== "YES" || xa !== "YES") && `its engine ${engine} has no transactions`;
      return {
        schema: "",
        name: String(name),
        columns: own,
        ...(key !== undefined && { key: JSON.parse(String(key[2])) as number[] }),
        isForgotten: engine === "MEMORY",
        ...(whyNot !== false && { whyNot }),
      };
    });
}

/** Where a user may make no database, the mark of a landing is a table beside the user's own. */
export function isMarkerTable(name: string): boolean {
  return /^drydock_[0-9a-z]{26}_[0-9a-z]{26}$/.test(name);
}

function columnOf(row: readonly (string | null)[]): MysqlColumn {
  const [, name = "", base = "", type = "", characterSet, collation, isGenerated] = row.map(
    (value) => value ?? "",
  );
  const isText = TEXTS.includes(base);
  const isForeign = isText && !UTF8.includes(characterSet ?? "");
  const kind = INTEGERS.includes(base)
    ? "integer"
    : REALS.includes(base)
      ? "real"
      : BYTES.includes(base) || isForeign
        ? "bytes"
        : "text";
  return {
    name,
    base,
    type,
    kind,
    isGenerated: isGenerated === "1",
    ...(isForeign && { charset: characterSet ?? "" }),
    ...(isText && { stored: { characterSet: characterSet ?? "", collation: collation ?? "" } }),
  };
}

export function isNumber({ base }: MysqlColumn): boolean {
  return NUMBERS.includes(base);
}

/** The columns of a key; of a table without one, all. */
export function keyColumns({ columns, key }: MysqlTable): readonly MysqlColumn[] {
  return key === undefined ? columns : key.map((at) => columns[at] as MysqlColumn);
}

export function tableName({ name }: Pick<TableShape, "name">): string {
  return quotedName(name);
}
