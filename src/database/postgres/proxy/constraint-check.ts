import type { ServerSession } from "./server-session.ts";

/** The constraints that can wait for the end of the transaction, and those that do so by themselves. */
const DEFERRABLE = `SELECT string_agg(name, ', '), string_agg(name, ', ') FILTER (WHERE condeferred)
  FROM (SELECT format('%I.%I', nspname, conname) AS name, condeferred
    FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_namespace ON pg_namespace.oid = connamespace
    WHERE condeferrable AND pg_catalog.has_schema_privilege(pg_namespace.oid, 'USAGE')) AS found`;

/**
 * Checks what a commit checks: constraints that wait for the end of the transaction. Afterwards each of them
 * waits again, or not, as its definition says. They are named because SET CONSTRAINTS ALL would also hold for
 * constraints that are made later.
 */
export async function checkConstraints(session: ServerSession): Promise<void> {
  const [[all, deferred] = []] = await session.control(DEFERRABLE);
  if (typeof all !== "string") return;
  const script = [`SET CONSTRAINTS ${all} IMMEDIATE`];
  if (typeof deferred === "string") script.push(`SET CONSTRAINTS ${deferred} DEFERRED`);
  await session.control(script.join("; "));
}
