import { InterruptedError, UnsupportedError } from "../../../core/errors/errors.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import { changedDefinitions } from "../../server/clone/changed-definitions.ts";
import type { ServerLogin } from "../../server/server-database.ts";
import { asStored, beExact, beginReading } from "../changes/exact-session.ts";
import { selected, valueLiteral, valuesOf } from "../changes/exact-values.ts";
import { type FoundTable, tableName, tableShapes } from "../changes/table-shapes.ts";
import { MysqlConnection } from "../mysql-connection.ts";
import { quotedName } from "../quoting.ts";
import { definersOf, definitionsOf, makeDefinitions, sequenceStates } from "./definitions.ts";
import { accountOf, type MariadbCloneServer } from "./mariadb-clone-server.ts";

const FILL = failpoint("clone.fill-mariadb");
/** Settings of the original's server that decide what statements mean. A clone has the same. */
const SAME_SETTINGS = [
  "sql_mode",
  "character_set_server",
  "collation_server",
  "lower_case_table_names",
  "explicit_defaults_for_timestamp",
  "default_week_format",
  "div_precision_increment",
  "group_concat_max_len",
  "innodb_strict_mode",
  "innodb_snapshot_isolation",
  "old_mode",
];
/** An offset; the names of time zones are in tables of the server. */
const OFFSET = /^(?:SYSTEM|[-+]\d\d:\d\d)$/;
/** How many characters of values an INSERT has. */
const STATEMENT = 4 << 20;

/** The settings that a clone takes over. */
export async function settingsOf(original: MysqlConnection): Promise<Map<string, string>> {
  const all = new Map(
    (await original.texts("SHOW GLOBAL VARIABLES")).map(([name, value]) => [
      String(name),
      String(value ?? ""),
    ]),
  );
  const same = SAME_SETTINGS.flatMap((name) => {
    const value = all.get(name);
    return value === undefined ? [] : [[name.replaceAll("_", "-"), value] as const];
  });
  const settings = new Map(same);
  const isolation = all.get("transaction_isolation") ?? all.get("tx_isolation");
  if (isolation !== undefined) settings.set("transaction-isolation", isolation);
  const zone = all.get("time_zone") ?? "SYSTEM";
  if (zone !== "SYSTEM" && OFFSET.test(zone)) settings.set("default-time-zone", `'${zone}'`);
  return settings;
}

/**
 * Fills the server of a clone from the original, as it was at one moment: definitions by SHOW CREATE, and
 * rows with each value as it is stored. A dump would lose digits of `float`. Then looks whether the
 * definitions are the same. The account of the plan's user is locked.
 */
export async function fillClone(
  server: MariadbCloneServer,
  login: ServerLogin,
  { user, database }: { readonly user: string; readonly database: string },
  signal: AbortSignal,
): Promise<void> {
  passFailpoint(FILL);
  const original = await MysqlConnection.open(login);
  const clone = await server.connect("mysql");
  try {
    for (const connection of [original, clone]) await beExact(connection);
    await beginReading(original);
    const definitions = await definitionsOf(original);
    const tables = await tableShapes(original);
    const sequences = await sequenceStates(original);
    const name = quotedName(database);
    await clone.run(`CREATE DATABASE ${name} ${definitions[0]?.sql}`);
    await makeAccounts(clone, { database, user, password: server.clientPassword, definitions });
    await clone.run(`USE ${name}`);
    const early = definitions.filter(({ type }) => ["SEQUENCE", "TABLE"].includes(type));
    await makeDefinitions(clone, early);
    for (const [sequence, state] of sequences) {
      const [next, cycle] = state.split("|");
      await clone.run(`SELECT SETVAL(${quotedName(sequence)}, ${next}, 0, ${cycle})`);
    }
    await asStored(original);
    for (const table of tables) if (!table.isForgotten) await copyRows(original, clone, table, signal);
    await makeDefinitions(
      clone,
      definitions.filter((each) => !early.includes(each)),
    );
    await clone.run("SET NAMES utf8mb4");
    const [different] = changedDefinitions(definitions, await definitionsOf(clone));
    if (different !== undefined)
      throw new UnsupportedError(`The definition of ${different.path} can't be copied exactly.`, {
        hint: "Use transaction_rollback for this database.",
      });
  } finally {
    await clone.close();
    await original.close();
  }
}

interface Accounts {
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly definitions: Parameters<typeof definersOf>[0];
}

/**
 * The plan's user, and the accounts that views and routines run as, which nobody can use. All may do
 * everything in the database, and nothing else.
 */
async function makeAccounts(
  clone: MysqlConnection,
  { database, user, password, definitions }: Accounts,
): Promise<void> {
  // In a grant, these characters stand for others.
  const pattern = quotedName(database.replace(/[_%\\]/g, "\\$&"));
  const own = accountOf(user);
  await clone.run(`CREATE USER ${own} IDENTIFIED BY '${password}' ACCOUNT LOCK`);
  await clone.run(`GRANT ALL PRIVILEGES ON ${pattern}.* TO ${own}`);
  for (const account of definersOf(definitions)) {
    await clone.run(`CREATE USER IF NOT EXISTS ${account} ACCOUNT LOCK`);
    await clone.run(`GRANT ALL PRIVILEGES ON ${pattern}.* TO ${account}`);
  }
}

async function copyRows(
  original: MysqlConnection,
  clone: MysqlConnection,
  table: FoundTable,
  signal: AbortSignal,
): Promise<void> {
  const written = table.columns.filter(({ isGenerated }) => !isGenerated);
  const from = { ...table, columns: written };
  const names = written.map(({ name }) => quotedName(name)).join(", ");
  const head = `INSERT INTO ${tableName(table)} (${names}) VALUES `;
  let rows: string[] = [];
  let size = 0;
  const flush = async () => {
    if (rows.length > 0) await clone.run(head + rows.join(","), "");
    rows = [];
    size = 0;
  };
  const columns = written.map(selected).join(", ");
  await clone.run("SET SESSION unique_checks = 0");
  await clone.run("START TRANSACTION");
  for await (const row of original.stream(`SELECT ${columns} FROM ${tableName(table)}`)) {
    if (signal.aborted) throw new InterruptedError();
    const values = valuesOf(from, row).map((value, at) => {
      const column = written[at];
      return column === undefined ? "NULL" : valueLiteral(column, value);
    });
    const text = `(${values.join(",")})`;
    rows.push(text);
    size += text.length;
    if (size > STATEMENT) await flush();
  }
  await flush();
  await clone.run("COMMIT");
}
