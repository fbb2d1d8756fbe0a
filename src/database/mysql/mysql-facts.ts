import { DrydockError } from "../../core/errors/errors.ts";
import type { MysqlConnection } from "./mysql-connection.ts";

/** Facts about a MySQL or MariaDB server and database that a held transaction depends on. */
export interface MysqlFacts {
  readonly product: string;
  readonly isMaria: boolean;
  /** To the second, so that a session from before a restart is not mistaken for one of today. */
  readonly serverStartedAt: string;
  /** Whether a change of a row that another session has changed since can fail by itself. */
  readonly hasSnapshots: boolean;
  readonly whyNoPrepare: string | undefined;
  /** The same, whatever tables the database has. */
  readonly whyNoXa: string | undefined;
}

export async function mysqlFacts(connection: MysqlConnection): Promise<MysqlFacts> {
  const first = async (sql: string) => (await connection.run(sql)).rows[0]?.map(String) ?? [];
  const column = async (sql: string) => (await connection.run(sql)).rows.map(([value]) => String(value));
  const [version = ""] = await first("SELECT VERSION()");
  const isMaria = /mariadb/i.test(version);
  const [, snapshots] = await first("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'");
  const withoutTransactions = await column(
    `SELECT t.TABLE_NAME FROM information_schema.TABLES t JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE
     WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' AND COALESCE(e.XA, 'NO') <> 'YES' ORDER BY 1`,
  );
  const whyNoXa = await whyNoPreparing(connection, version, isMaria);
  return {
    isMaria,
    product: isMaria ? `MariaDB ${version.split("-", 1)[0]}` : `MySQL ${version.split("-", 1)[0]}`,
    serverStartedAt: String(await serverStart(connection)),
    hasSnapshots: snapshots !== undefined,
    whyNoPrepare: whyNoXa ?? whyNotThese(withoutTransactions),
    whyNoXa,
  };
}

/**
 * Some table with transactions that is not a marker of ours. A marker is dropped with its plan, and a
 * transaction that has read it would block that.
 */
export async function anyTable(connection: MysqlConnection): Promise<string | undefined> {
  const { rows } = await connection.run(
    `SELECT CONCAT('\`', REPLACE(TABLE_NAME, '\`', '\`\`'), '\`') FROM information_schema.TABLES
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND ENGINE = 'InnoDB' AND LEFT(TABLE_NAME, 8) <> 'drydock_' LIMIT 1`,
  );
  return rows[0] === undefined ? undefined : String(rows[0][0]);
}

/** The start of the server in seconds, give or take one. */
export async function serverStart(connection: MysqlConnection): Promise<number> {
  const [, uptime = 0] = (await connection.run("SHOW GLOBAL STATUS LIKE 'Uptime'")).rows[0] ?? [];
  const [now = 0] = (await connection.run("SELECT UNIX_TIMESTAMP()")).rows[0] ?? [];
  return Number(now) - Number(uptime);
}

/**
 * The reason why transactions can't be prepared: a prepared one must outlive its connection, and must be
 * found again.
 */
async function whyNoPreparing(
  connection: MysqlConnection,
  version: string,
  isMaria: boolean,
): Promise<string | undefined> {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const isOld = isMaria ? major < 10 || (major === 10 && minor < 5) : major < 8;
  if (isOld) return `prepared transactions do not outlive their connection on version ${version}`;
  try {
    await connection.run("XA RECOVER");
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof DrydockError)) throw thrown;
    return "this user may not look for prepared transactions (XA_RECOVER_ADMIN)";
  }
}

function whyNotThese(withoutTransactions: readonly string[]): string | undefined {
  if (withoutTransactions.length === 0) return undefined;
  const names = withoutTransactions.slice(0, 3).join(", ");
  return `the engine of ${names}${withoutTransactions.length > 3 ? " and others" : ""} has no transactions`;
}
