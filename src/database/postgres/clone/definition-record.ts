import type { RecordedStatement } from "../../server/clone/clone-changes.ts";
import { statementsOf } from "../../server/server-statements.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { quotedName } from "./quoting.ts";

/**
 * # The record of statements that changed definitions
 *
 * Event triggers of the clone write each such statement into `drydock_record.statements`, in the transaction
 * that runs it: what was rolled back is not there. The schema and all in it count as a part of the extension
 * plpgsql, so that no dump of the clone has them. No role of a client may write there.
 *
 * The server tells the whole text that a client sent, which may have several statements.
 */
export const RECORD_SCHEMA = "drydock_record";

const RECORDING = [
  `CREATE SCHEMA ${RECORD_SCHEMA}`,
  `CREATE TABLE ${RECORD_SCHEMA}.statements (
     n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL, pid int NOT NULL,
     query text NOT NULL, role text NOT NULL, search_path text NOT NULL)`,
  `CREATE FUNCTION ${RECORD_SCHEMA}.write() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $body$
   BEGIN
     IF TG_EVENT OPERATOR(pg_catalog.=) 'sql_drop' THEN
       IF TG_TAG OPERATOR(pg_catalog.!~) '^DROP' OR NOT EXISTS (
         SELECT 1 FROM pg_catalog.pg_event_trigger_dropped_objects() WHERE NOT is_temporary) THEN RETURN; END IF;
     ELSIF TG_TAG OPERATOR(pg_catalog.~) '^(DROP|REFRESH|REINDEX)' OR EXISTS (
         SELECT 1 FROM pg_catalog.pg_event_trigger_ddl_commands()
         WHERE schema_name OPERATOR(pg_catalog.=) 'pg_temp') THEN RETURN;
     END IF;
     INSERT INTO ${RECORD_SCHEMA}.statements (at, pid, query, role, search_path) VALUES (
       pg_catalog.statement_timestamp(), pg_catalog.pg_backend_pid(), pg_catalog.current_query(),
       pg_catalog.current_setting('role'), pg_catalog.current_setting('search_path'));
   END $body$`,
  `CREATE EVENT TRIGGER drydock_record_end ON ddl_command_end EXECUTE FUNCTION ${RECORD_SCHEMA}.write()`,
  `CREATE EVENT TRIGGER drydock_record_drop ON sql_drop EXECUTE FUNCTION ${RECORD_SCHEMA}.write()`,
  ...[
    `SCHEMA ${RECORD_SCHEMA}`,
    `TABLE ${RECORD_SCHEMA}.statements`,
    `SEQUENCE ${RECORD_SCHEMA}.statements_n_seq`,
    `FUNCTION ${RECORD_SCHEMA}.write()`,
    "EVENT TRIGGER drydock_record_end",
    "EVENT TRIGGER drydock_record_drop",
  ].map((member) => `ALTER EXTENSION plpgsql ADD ${member}`),
  `TRUNCATE ${RECORD_SCHEMA}.statements`,
];

/** Begins the record, in a database of the clone that nobody uses yet. */
export async function beginRecord(admin: PostgresConnection): Promise<void> {
  for (const sql of RECORDING) await admin.run(sql);
}

/** The statements since the base that may have changed definitions, in order. */
export async function recordedStatements(admin: PostgresConnection): Promise<RecordedStatement[]> {
  const { rows } = await admin.run(
    `SELECT min(n), query, role, search_path FROM ${RECORD_SCHEMA}.statements
     GROUP BY pid, at, query, role, search_path ORDER BY 1`,
  );
  return rows.flatMap(([, query, role, searchPath]) => {
    const statements = statementsOf(String(query), "postgres");
    const kept = statements.length === 1 ? statements : statements.filter(({ words }) => mayDefine(words));
    return kept.map(({ sql }) => ({
      sql: withoutConcurrently(sql),
      ...(role !== "none" && { role: String(role) }),
      searchPath: String(searchPath),
    }));
  });
}

/** Runs a recorded statement, in a transaction, as the user of the plan or as its role. */
export async function runRecorded(
  connection: PostgresConnection,
  { sql, role, searchPath }: RecordedStatement,
  user: string | undefined,
): Promise<void> {
  const as = role ?? user;
  await connection.run(as === undefined ? "SET LOCAL ROLE NONE" : `SET LOCAL ROLE ${quotedName(as)}`);
  await connection.run("SELECT set_config('search_path', $1, true)", [searchPath]);
  await connection.run(sql, [], "");
}

/** Ends the effect of `runRecorded` on later statements. */
export async function afterRecorded(connection: PostgresConnection): Promise<void> {
  await connection.run("SET LOCAL ROLE NONE");
  await connection.run("SET LOCAL search_path TO pg_catalog");
}

const DEFINING = [
  "CREATE",
  "ALTER",
  "DROP",
  "COMMENT",
  "GRANT",
  "REVOKE",
  "REASSIGN",
  "IMPORT",
  "DO",
  "CALL",
];

function mayDefine([first = ""]: readonly string[]): boolean {
  return DEFINING.includes(first);
}

/** An index is built at once where it lands, because that happens in a transaction. */
function withoutConcurrently(sql: string): string {
  return sql.replace(/^(\s*(?:CREATE\s+(?:UNIQUE\s+)?|DROP\s+)INDEX\s+)CONCURRENTLY\s+/i, "$1");
}
