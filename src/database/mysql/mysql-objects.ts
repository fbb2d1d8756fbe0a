import type { MysqlConnection } from "./mysql-connection.ts";

/** Something in a database of the server. */
interface DatabaseObject {
  readonly schema: string;
  readonly name: string;
}

/** A view, a routine or a trigger, with its text; the server may not show it to this user. */
interface Definition extends DatabaseObject {
  readonly text: string | undefined;
}

/** The databases in which the server keeps its own tables. */
const OF_SERVER = "('mysql', 'sys', 'information_schema', 'performance_schema')";
const TABLES = `SELECT t.TABLE_SCHEMA, t.TABLE_NAME FROM information_schema.TABLES t
  JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE
  WHERE t.TABLE_TYPE = 'BASE TABLE' AND COALESCE(e.XA, 'NO') <> 'YES'
    AND t.TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema')`;
const VIEWS = `SELECT TABLE_SCHEMA, TABLE_NAME, NULLIF(VIEW_DEFINITION, '') FROM information_schema.VIEWS
  WHERE TABLE_SCHEMA NOT IN ${OF_SERVER}`;
const FUNCTIONS = `SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES
  WHERE ROUTINE_TYPE = 'FUNCTION'`;
const ROUTINES = `SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES
  WHERE ROUTINE_SCHEMA NOT IN ${OF_SERVER}`;
/** By the table whose rows they go with. */
const TRIGGERS = `SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, ACTION_STATEMENT
  FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA NOT IN ${OF_SERVER}`;

/**
 * What a statement does by the names in it, where its words do not show it: it may write although it reads,
 * by a stored function or by a view that calls one; and what it writes may stay at once, because a table's
 * engine has no transactions, or a trigger or a routine writes into such a table.
 *
 * Names are looked for in the whole text, also in strings: a statement counts rather too often. The objects
 * are those that there were when the connection was opened.
 */
export class MysqlObjects {
  readonly #writing: readonly DatabaseObject[];
  readonly #withoutTransactions: readonly DatabaseObject[];
  readonly #database: string;

  private constructor(
    database: string,
    writing: readonly DatabaseObject[],
    withoutTransactions: readonly DatabaseObject[],
  ) {
    this.#database = database;
    this.#writing = writing;
    this.#withoutTransactions = withoutTransactions;
  }

  static async read(connection: MysqlConnection, database: string): Promise<MysqlObjects> {
    const all = async (sql: string) =>
      (await connection.run(sql)).rows.map(
        ([schema, name, text]): Definition => ({
          schema: String(schema),
          name: String(name),
          text: text === null || text === undefined ? undefined : String(text),
        }),
      );
    const [functions, tables] = [await all(FUNCTIONS), await all(TABLES)];
    const isOwn = ({ schema }: DatabaseObject) => !["mysql", "sys"].includes(schema.toLowerCase());
    const views = functions.length > 0 || tables.some(isOwn) ? await all(VIEWS) : [];
    const programs = tables.some(isOwn) ? [...(await all(ROUTINES)), ...(await all(TRIGGERS))] : [];
    return new MysqlObjects(
      database,
      [...functions, ...thatName(functions, views)],
      [...tables, ...thatName(tables.filter(isOwn), [...views, ...programs])],
    );
  }

  /** Whether a statement whose words only read may write. */
  mayWrite(sql: string): boolean {
    const names = namesIn(sql);
    return this.#writing.some(({ name }) => isIn(name, names));
  }

  /** Why a statement that writes can't be run in a transaction; `database` is the one that it is run in. */
  whyNotWritten(sql: string, database = this.#database): string | undefined {
    const found = this.#withoutTransactions.find((each) => isNamed(each, sql, database));
    return found === undefined
      ? undefined
      : `The table ${found.name} can't be changed in a plan: its engine has no transactions, or it leads to a table of such an engine.`;
  }
}

/** Those definitions that name one of these objects, or one another that does. */
function thatName(objects: readonly DatabaseObject[], definitions: readonly Definition[]): DatabaseObject[] {
  const found: Definition[] = [];
  for (let wanted = objects; wanted.length > 0; ) {
    const next = definitions.filter((each) => {
      if (found.includes(each)) return false;
      if (each.text === undefined) return true;
      const { text, schema } = each;
      return wanted.some((object) => isNamed(object, text, schema));
    });
    found.push(...next);
    wanted = next;
  }
  return found;
}

/** An object of another database is named with that database, and a point between them. */
function isNamed({ schema, name }: DatabaseObject, sql: string, database: string): boolean {
  const names = namesIn(sql);
  if (!isIn(name, names)) return false;
  if (schema.toLowerCase() === database.toLowerCase()) return true;
  const [inSchema, called] = [pieces(schema).at(-1) ?? "", pieces(name)[0] ?? ""];
  return (
    isIn(schema, names) &&
    new RegExp(`${escaped(inSchema)}[^A-Z0-9_$.]*[.][^A-Z0-9_$.]*${escaped(called)}`).test(sql.toUpperCase())
  );
}

function escaped(piece: string): string {
  return piece.replaceAll("$", "\\$");
}

/** The pieces of all names in a text. */
function namesIn(sql: string): ReadonlySet<string> {
  return new Set(pieces(sql));
}

/** Of a name that has other characters than ASCII, only the rest is looked for. */
function isIn(name: string, names: ReadonlySet<string>): boolean {
  return pieces(name).every((piece) => names.has(piece));
}

function pieces(text: string): string[] {
  return text
    .toUpperCase()
    .split(/[^A-Z0-9_$]+/)
    .filter(Boolean);
}
