import { GUARD } from "../../server/guarded-database.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { checkConstraints } from "./constraint-check.ts";
import { ServerSession } from "./server-session.ts";
import { settingStatement } from "./settings.ts";
import { message, SYNC } from "./wire.ts";
import { digestOf, Executed, type Repeatable, type RepeatableWork, type RunnableStatement } from "./work.ts";

/** Does the work of a client again; returns why a result differs. */
export async function repeatWork(
  connection: PostgresConnection,
  { settings, statements }: RepeatableWork,
): Promise<string | undefined> {
  const session = new ServerSession(connection);
  session.begin(undefined);
  try {
    const make = settingStatement(settings, "client");
    if (make !== undefined) await session.control(make);
    for (const statement of statements) {
      const digest = await repeat(session, statement);
      if (statement.digest !== undefined && digest !== statement.digest)
        return `it now gives something else: ${statement.sql}`;
    }
    await checkConstraints(session);
    const restore = settingStatement(settings, "plan");
    const rest = ["CLOSE ALL", `RELEASE SAVEPOINT ${GUARD}`, `SAVEPOINT ${GUARD}`];
    await session.control([...(restore === undefined ? [] : [restore]), ...rest].join("; "));
    return undefined;
  } finally {
    session.end();
  }
}

async function repeat(session: ServerSession, { sql, parameters, copied }: Repeatable): Promise<string> {
  const executed = new Executed(asIs(sql), parameters);
  const copying = new Promise<void>((done) => {
    session.onCopying = done;
  });
  const awaited = {
    digest: () => executed.digest,
    on: (type: string, bytes: Buffer) => executed.take(type, bytes),
  };
  if (parameters === undefined) await session.query(sql, { ...awaited, ends: "Z" });
  else {
    await session.send(message("P", "", sql, parameters.types), { ends: "1", on: awaited.on });
    await session.send(message("B", "", "", parameters.values), { ends: "2", on: awaited.on });
    await session.send(message("E", "", Buffer.alloc(4)), { ...awaited, ends: "CsI" });
  }
  if (copied.length > 0) {
    await Promise.race([copying, session.answered()]);
    for (const bytes of copied) await session.send(bytes);
  }
  if (parameters !== undefined) await session.send(SYNC, { ends: "Z" });
  await session.answered();
  return digestOf(executed);
}

function asIs(sql: string): RunnableStatement {
  return { does: "run", sql, words: [], reads: false, sets: [] };
}
