import { UnsupportedError } from "../../../core/errors/errors.ts";
import type { Definition } from "../../server/clone/clone-changes.ts";
import { isMarkerTable } from "../changes/table-shapes.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { literal, quotedName } from "../quoting.ts";

/** A definition of a database, with what decides its meaning where it is made again. */
export interface MysqlDefinition extends Definition {
  /** The statement that makes it, with what is not compared. */
  readonly made: string;
  readonly session?: DefinitionSession;
}

interface DefinitionSession {
  readonly sqlMode: string;
  readonly client: string;
  readonly collation: string;
  /** Of an event. */
  readonly timeZone?: string;
}

const DATABASE = `SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA
  WHERE SCHEMA_NAME = DATABASE()`;
const OBJECTS = `SELECT TABLE_TYPE, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
  UNION ALL SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()
  UNION ALL SELECT 'EVENT', EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()
  ORDER BY 1, 2`;
/** Triggers of a table run in an order of their own. */
const TRIGGERS = `SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS
  WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_TIMING, ACTION_ORDER`;

/**
 * By the type of the catalogue: what SHOW CREATE calls it, and the order in which definitions can be made.
 */
const KINDS: { readonly [type: string]: { readonly type: string; readonly column: string } } = {
  SEQUENCE: { type: "SEQUENCE", column: "Create Table" },
  "BASE TABLE": { type: "TABLE", column: "Create Table" },
  "SYSTEM VERSIONED": { type: "TABLE", column: "Create Table" },
  FUNCTION: { type: "FUNCTION", column: "Create Function" },
  PROCEDURE: { type: "PROCEDURE", column: "Create Procedure" },
  PACKAGE: { type: "PACKAGE", column: "Create Package" },
  "PACKAGE BODY": { type: "PACKAGE BODY", column: "Create Package Body" },
  VIEW: { type: "VIEW", column: "Create View" },
  TRIGGER: { type: "TRIGGER", column: "SQL Original Statement" },
  EVENT: { type: "EVENT", column: "Create Event" },
};
const ORDER = Object.values(KINDS).map(({ type }) => type);

/** All definitions of the database of a connection, in an order in which they can be made. */
export async function definitionsOf(connection: MysqlConnection): Promise<MysqlDefinition[]> {
  const [character] = await connection.texts(DATABASE);
  const sql = `CHARACTER SET ${character?.[0]} COLLATE ${character?.[1]}`;
  const database = { type: "DATABASE", schema: "", name: "settings", owner: "", sql, made: sql };
  const objects = (await connection.texts(OBJECTS)).map(
    ([type, name]) => [String(type), String(name)] as const,
  );
  const triggers = (await connection.texts(TRIGGERS)).map(([name]) => ["TRIGGER", String(name)] as const);
  const found: MysqlDefinition[] = [];
  for (const [catalogued, name] of [...objects, ...triggers])
    if (!isMarkerTable(name)) found.push(await shown(connection, catalogued, name));
  return [database, ...found.toSorted((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type))];
}

async function shown(
  connection: MysqlConnection,
  catalogued: string,
  name: string,
): Promise<MysqlDefinition> {
  const kind = KINDS[catalogued];
  if (kind === undefined)
    throw new UnsupportedError(
      `The database has ${name}, which is of a kind that is not known: ${catalogued}.`,
    );
  const { columns, rows } = await connection.run(`SHOW CREATE ${kind.type} ${quotedName(name)}`);
  const values = new Map(columns.map((column, at) => [column, rows[0]?.[at]] as const));
  const of = (column: string) => values.get(column) ?? undefined;
  const made = of(kind.column) ?? of("Create Sequence");
  if (made === undefined)
    throw new UnsupportedError(`This user may not read the definition of ${name} (${kind.type}).`, {
      hint: "Use a user that may read every definition of the database: its definer, or one with SHOW CREATE ROUTINE and the privileges TRIGGER, EVENT and SHOW VIEW.",
    });
  const client = of("character_set_client");
  const session =
    client === undefined
      ? undefined
      : {
          sqlMode: String(of("sql_mode") ?? ""),
          client: String(client),
          collation: String(of("collation_connection")),
          ...(of("time_zone") !== undefined && { timeZone: String(of("time_zone")) }),
        };
  return {
    type: kind.type,
    schema: "",
    name,
    owner: session === undefined ? "" : JSON.stringify(session),
    sql: compared(kind.type, String(made)),
    made: String(made),
    ...(session !== undefined && { session }),
  };
}

/** Without the next number of a table, which changes with its rows. */
function compared(type: string, sql: string): string {
  return type === "TABLE" ? sql.replace(/(^\).*?) AUTO_INCREMENT=\d+/m, "$1") : sql;
}

/** The accounts that definitions run as. */
export function definersOf(definitions: readonly MysqlDefinition[]): string[] {
  const found = definitions.flatMap(
    ({ made, session }) =>
      (session === undefined ? undefined : /\bDEFINER=(`(?:[^`]|``)*`@`(?:[^`]|``)*`)/.exec(made)?.[1]) ?? [],
  );
  return [...new Set(found)];
}

/** Makes definitions in an empty database. Those that need others may come before them. */
export async function makeDefinitions(
  connection: MysqlConnection,
  definitions: readonly MysqlDefinition[],
): Promise<void> {
  let left = definitions.filter(({ type }) => type !== "DATABASE");
  while (left.length > 0) {
    const refused: { readonly definition: MysqlDefinition; readonly thrown: unknown }[] = [];
    for (const definition of left)
      await makeOne(connection, definition).catch((thrown: unknown) => refused.push({ definition, thrown }));
    const [first] = refused;
    if (first !== undefined && refused.length === left.length)
      throw new UnsupportedError(
        `The definition of ${first.definition.name} (${first.definition.type}) can't be made in the clone.`,
        { cause: first.thrown, hint: "Use transaction_rollback for this database." },
      );
    left = refused.map(({ definition }) => definition);
  }
}

async function makeOne(connection: MysqlConnection, { made, session }: MysqlDefinition): Promise<void> {
  if (session !== undefined) {
    await connection.run(`SET SESSION sql_mode = ${literal(session.sqlMode)}`);
    await connection.run(`SET SESSION character_set_client = ${session.client}`);
    await connection.run(`SET SESSION collation_connection = ${session.collation}`);
    if (session.timeZone !== undefined)
      await connection.run(`SET SESSION time_zone = ${literal(session.timeZone)}`);
  }
  await connection.run(made, "");
}

/** The states of the sequences: where they go on, by name. */
export async function sequenceStates(connection: MysqlConnection): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  const names = await connection.texts(
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'SEQUENCE' ORDER BY 1",
  );
  for (const [name] of names) {
    const [state] = await connection.texts(
      `SELECT next_not_cached_value, cycle_count FROM ${quotedName(String(name))}`,
    );
    states.set(String(name), (state ?? []).join("|"));
  }
  return states;
}
