import { messageOf, UnsupportedError } from "../../../core/errors/errors.ts";
import type { TableShape } from "../../server/clone/clone-changes.ts";
import { quotedName } from "../clone/quoting.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { tableName } from "./table-shapes.ts";

/** Triggers of users; those by which the server itself checks references stay. */
const TRIGGERS = `SELECT n.nspname, c.relname, t.tgname, t.tgenabled FROM pg_catalog.pg_trigger t
  JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') ORDER BY 1, 2, 3`;
const RULES = `SELECT n.nspname, c.relname, r.rulename FROM pg_catalog.pg_rewrite r
  JOIN pg_catalog.pg_class c ON c.oid = r.ev_class JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND r.ev_type <> '1' AND r.ev_enabled <> 'D' ORDER BY 1, 2, 3`;

/**
 * Calls `write` while the triggers of these tables are off: what they did in the clone is among the rows that
 * land. All in the same transaction, so that no other session sees it. Refuses rules, which would turn the
 * rows into something else.
 */
export async function withoutTriggers(
  connection: PostgresConnection,
  tables: readonly TableShape[],
  write: () => Promise<void>,
): Promise<void> {
  const names = new Set(tables.map(tableName));
  const of = async (sql: string) =>
    (await connection.run(sql)).rows
      .map(([schema, table, name, state]) => ({
        table: tableName({ schema: String(schema), name: String(table) }),
        name: String(name),
        state: String(state),
      }))
      .filter(({ table }) => names.has(table));
  const [rule] = await of(RULES);
  if (rule !== undefined)
    throw new UnsupportedError(`Rows can't land in ${rule.table}: its rule ${rule.name} would change them.`, {
      hint: "Use transaction_rollback for this database, or do without the rule.",
    });
  const triggers = await of(TRIGGERS);
  for (const { table, name } of triggers)
    await connection
      .run(`ALTER TABLE ONLY ${table} DISABLE TRIGGER ${quotedName(name)}`, [], "")
      .catch((thrown: unknown) => {
        throw new UnsupportedError(
          `Rows can't land in ${table} without its trigger ${name}: ${messageOf(thrown)}`,
          { hint: "Only the owner of a table can switch off its triggers: use that user." },
        );
      });
  await write();
  for (const { table, name, state } of triggers)
    await connection.run(
      `ALTER TABLE ONLY ${table} ENABLE ${state === "A" ? "ALWAYS " : ""}TRIGGER ${quotedName(name)}`,
    );
}
