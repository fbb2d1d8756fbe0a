import type { PostgresConnection } from "../postgres-connection.ts";

/** With these, every value has one text, and a text gives the same value back. */
const EXACT = {
  search_path: "pg_catalog",
  DateStyle: "ISO, YMD",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  extra_float_digits: "3",
  bytea_output: "hex",
  xmlbinary: "base64",
  lc_monetary: "C",
  row_security: "off",
  lock_timeout: "10000",
  statement_timeout: "0",
  idle_in_transaction_session_timeout: "0",
  standard_conforming_strings: "on",
  xmloption: "content",
};

/** Begins a transaction that sees one state of the database, in which values are written exactly. */
export async function beginExact(
  connection: PostgresConnection,
  access: "READ ONLY" | "READ WRITE",
): Promise<void> {
  await connection.run(`BEGIN ISOLATION LEVEL REPEATABLE READ ${access}`);
  const settings = Object.entries(EXACT).flat();
  const calls = Object.keys(EXACT).map((_, at) => `set_config($${2 * at + 1}, $${2 * at + 2}, true)`);
  await connection.run(`SELECT ${calls.join(", ")}`, settings);
}
