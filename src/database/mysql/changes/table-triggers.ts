import type { TableShape } from "../../server/clone/clone-changes.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { literal } from "../quoting.ts";

/** A trigger of a table, if there is one: a session can't do without it. */
export async function triggerOf(
  connection: MysqlConnection,
  { name }: Pick<TableShape, "name">,
): Promise<string | undefined> {
  const [row] = await connection.texts(
    `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE()
     AND EVENT_OBJECT_TABLE = ${literal(name)} ORDER BY 1 LIMIT 1`,
  );
  return row?.[0] ?? undefined;
}
