import type { MysqlConnection } from "../mysql-connection.ts";

/** With these, every value has one text, and a text gives the same value back. */
const EXACT = [
  "time_zone = '+00:00'",
  "sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION,NO_DIR_IN_CREATE'",
  // The server may have others for every session.
  "sql_select_limit = 18446744073709551615",
  "group_concat_max_len = 1048576",
  "sql_safe_updates = 0",
  "sql_big_selects = 1",
  "unique_checks = 1",
  "sql_auto_is_null = 0",
  "innodb_lock_wait_timeout = 10",
  "lock_wait_timeout = 10",
  "max_sort_length = 65536",
  "max_statement_time = 0",
  // References are checked when all rows are there (references.ts); nothing follows a row that goes.
  "foreign_key_checks = 0",
];

/** Makes a session in which values are written exactly. Statements are UTF-8. */
export async function beExact(connection: MysqlConnection): Promise<void> {
  for (const setting of EXACT) await connection.run(`SET SESSION ${setting}`);
  const known = await connection.texts("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'");
  // A row that another session has changed is a conflict of its own, which has a name.
  if (known.length > 0) await connection.run("SET SESSION innodb_snapshot_isolation = OFF");
}

/** Begins to read one state of the database, with texts in the character sets of their columns. */
export async function beginReading(connection: MysqlConnection): Promise<void> {
  await connection.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await connection.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
}

/** From now on texts come as the bytes that the columns hold. */
export async function asStored(connection: MysqlConnection): Promise<void> {
  await connection.run("SET SESSION character_set_results = NULL");
}
