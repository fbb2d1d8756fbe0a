import type { ServerSession } from "./server-session.ts";

const DEFERRED = `SELECT string_agg(format('%I.%I', nspname, conname), ', ')
  FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_namespace ON pg_namespace.oid = connamespace WHERE condeferred`;

/**
 * Checks what a commit checks: constraints that wait for the end of the transaction. Afterwards each of them
 * waits again, or not, as its definition says.
 */
export async function checkConstraints(session: ServerSession): Promise<void> {
  const [[names] = []] = await session.control(`SET CONSTRAINTS ALL IMMEDIATE; ${DEFERRED}`);
  if (typeof names === "string") await session.control(`SET CONSTRAINTS ${names} DEFERRED`);
}
