import type { ServerSession } from "./server-session.ts";
import { literals } from "./session-values.ts";

/**
 * Settings that a procedure makes stay in the session when it has ended, and no text of the client says so.
 * They are found by comparing all settings before and after.
 */
export type AllSettings = ReadonlyMap<string, string>;

/** They have another value at every moment, or can't be set. */
const NOT_KEPT =
  /^(?:timestamp|last_insert_id|identity|insert_id|rand_seed[12]|(?:error|warning)_count|in_transaction|.*gtid.*|pseudo_.*|autocommit)$/;
const TABLES = {
  maria: "information_schema.SESSION_VARIABLES",
  mysql: "performance_schema.session_variables",
};
const MOST = 100_000;

/** Whether a statement runs a procedure, whose text is not known. */
export function runsProcedure([first]: readonly string[]): boolean {
  return first === "CALL";
}

export async function allSettings(session: ServerSession): Promise<AllSettings> {
  const table = TABLES[session.connection.isMaria ? "maria" : "mysql"];
  const cells = await session.control(
    `SELECT CAST(LOWER(VARIABLE_NAME) AS BINARY), CAST(VARIABLE_VALUE AS BINARY) FROM ${table} LIMIT ${MOST}`,
  );
  return new Map(
    cells.map(([name, value]) => [String(name?.bytes), value?.bytes?.toString("latin1") ?? "NULL"] as const),
  );
}

/** The names of the settings that differ, and their earlier and later values as SQL. */
export async function unsaidSettings(
  session: ServerSession,
  before: AllSettings,
): Promise<{ readonly name: string; readonly before: string; readonly after: string }[]> {
  const now = await allSettings(session);
  const names = [...now.keys()].filter(
    (name) => !NOT_KEPT.test(name) && before.has(name) && before.get(name) !== now.get(name),
  );
  if (names.length === 0) return [];
  const after = await literals(
    session,
    names.map((name) => `@@SESSION.${name}`),
  );
  return names.map((name, at) => ({
    name,
    before: asSql(before.get(name) ?? "NULL"),
    after: after[at] ?? "DEFAULT",
  }));
}

function asSql(value: string): string {
  return /^-?\d+(?:\.\d+)?$/.test(value)
    ? value
    : `_utf8mb4 x'${Buffer.from(value, "latin1").toString("hex")}'`;
}
