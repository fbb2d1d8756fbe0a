import { DrydockError } from "../../core/errors/errors.ts";
import type { ServerLogin, TransactionName } from "../server/server-database.ts";
import { SERVER_DOWN } from "../server/server-errors.ts";
import { MysqlConnection } from "./mysql-connection.ts";

/**
 * MySQL and MariaDB forget a prepared transaction once it is over, and do not say how it ended. So the
 * transaction writes its own name into a table that is there only for that: the row is there if and only if
 * it was committed.
 *
 * The table is in a database of its own, `drydock_PLAN_RESOURCE`, where the user may make one, else in the
 * user's database under that name. It is made by another connection, because making it would commit the
 * transaction, and goes when the plan does. Where neither is allowed there is none.
 */
export async function makeMarkerTable(
  login: ServerLogin,
  name: TransactionName,
): Promise<string | undefined> {
  const connection = await MysqlConnection.open(login);
  const own = `drydock_${name.planId}_${name.resourceId}`.toLowerCase();
  try {
    if (await isAllowed(connection, `CREATE DATABASE IF NOT EXISTS ${own}`))
      return (await isAllowed(connection, tableIn(`${own}.landings`))) ? `${own}.landings` : undefined;
    return (await isAllowed(connection, tableIn(own))) ? own : undefined;
  } finally {
    await connection.close();
  }
}

/** Writes the mark, in the transaction. */
export function markStatement(marker: string, { serial }: TransactionName): string {
  return `INSERT INTO ${marker} (serial) VALUES ('${serial}')`;
}

/** Whether the mark of a transaction is there. */
export async function isMarked(
  connection: MysqlConnection,
  marker: string,
  { serial }: TransactionName,
): Promise<boolean> {
  return (await connection.run(`SELECT 1 FROM ${marker} WHERE serial = '${serial}'`)).rows.length > 0;
}

export async function removeMarkerTable(connection: MysqlConnection, marker: string): Promise<void> {
  const [database, table] = marker.split(".");
  await connection.run(
    table === undefined ? `DROP TABLE IF EXISTS ${marker}` : `DROP DATABASE IF EXISTS ${database}`,
  );
}

function tableIn(marker: string): string {
  return `CREATE TABLE IF NOT EXISTS ${marker} (serial VARCHAR(32) PRIMARY KEY) ENGINE=InnoDB`;
}

/** What a user may not do is not worth an error here: the outcome is then said to be in doubt where it is. */
async function isAllowed(connection: MysqlConnection, sql: string): Promise<boolean> {
  try {
    await connection.run(sql);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof DrydockError) || thrown.code === SERVER_DOWN) throw thrown;
    return false;
  }
}
