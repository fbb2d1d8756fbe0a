import { DrydockError } from "../../core/errors/errors.ts";
import type { ServerLogin, TransactionName } from "../server/server-database.ts";
import { SERVER_DOWN } from "../server/server-errors.ts";
import { MysqlConnection } from "./mysql-connection.ts";

/**
 * MySQL and MariaDB forget a prepared transaction when it ends, and do not tell how it ended. So the
 * transaction writes its own name into a table that exists only for that: the row exists if and only if the
 * transaction was committed.
 *
 * The table is in a database of its own, `drydock_PLAN_RESOURCE`, if the user may create one, else in the
 * user's database under that name. Another connection creates it, because creating it would
 * commit the transaction. It is dropped with the plan. Where the user may do neither, there is no table.
 */
export async function makeMarkerTable(
  login: ServerLogin,
  name: TransactionName,
): Promise<string | undefined> {
  const connection = await MysqlConnection.open(login);
  const own = markerName(name);
  try {
    if (await isAllowed(connection, `CREATE DATABASE IF NOT EXISTS ${own}`))
      return (await isAllowed(connection, tableIn(`${own}.landings`))) ? `${own}.landings` : undefined;
    return (await isAllowed(connection, tableIn(own))) ? own : undefined;
  } finally {
    await connection.close();
  }
}

function markerName({ planId, resourceId }: Pick<TransactionName, "planId" | "resourceId">): string {
  return `drydock_${planId}_${resourceId}`.toLowerCase();
}

/** Removes the table of a sandbox, wherever it is, if there is one. */
export async function forgetMarker(
  login: ServerLogin,
  of: Pick<TransactionName, "planId" | "resourceId">,
): Promise<void> {
  const connection = await MysqlConnection.open(login);
  const own = markerName(of);
  try {
    const isThere = async (what: string) =>
      (await connection.run(`SHOW ${what} LIKE '${own}'`)).rows.length > 0;
    if (await isThere("DATABASES")) await removeMarkerTable(connection, `${own}.landings`);
    if (await isThere("TABLES")) await removeMarkerTable(connection, own);
  } finally {
    await connection.close();
  }
}

/** The statement that writes the mark. It runs in the transaction. */
export function markStatement(marker: string, { serial }: TransactionName): string {
  return `INSERT INTO ${marker} (serial) VALUES ('${serial}')`;
}

/** Whether the mark of a transaction exists. */
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

/** A missing privilege is no error here. Without a marker, an outcome in doubt is reported as such. */
async function isAllowed(connection: MysqlConnection, sql: string): Promise<boolean> {
  try {
    await connection.run(sql);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof DrydockError) || thrown.code === SERVER_DOWN) throw thrown;
    return false;
  }
}
