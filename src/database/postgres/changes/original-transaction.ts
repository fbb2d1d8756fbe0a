import { SandboxCommitError } from "../../../core/errors/errors.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import { landPrepared } from "../../server/land-prepared.ts";
import {
  type Evidence,
  nameText,
  type Outcome,
  type ServerLogin,
  type ServerSession,
  type TransactionName,
} from "../../server/server-database.ts";
import { PostgresConnection } from "../postgres-connection.ts";
import { PostgresResolver } from "../postgres-resolver.ts";
import type { CloneChanges } from "./clone-changes.ts";
import { beginExact } from "./exact-session.ts";
import { landChanges } from "./land-changes.ts";

const POINTS = {
  write: failpoint("clone.write-original"),
  prepare: failpoint("clone.prepare"),
  commit: failpoint("clone.commit-prepared"),
  rollBack: failpoint("clone.roll-back-prepared"),
};

/** A transaction on the original that may be prepared, or become so by what a dead process has sent. */
export interface Attempt {
  readonly name: TransactionName;
  readonly session: ServerSession;
}

/**
 * Writes changes into the original, in one transaction that is then prepared. `note` records the attempt
 * durably before anything is written.
 */
export async function prepareChanges(
  login: ServerLogin,
  name: TransactionName,
  changes: CloneChanges,
  note: (attempt: Attempt) => void,
): Promise<Evidence> {
  const connection = await PostgresConnection.open(login);
  try {
    const { rows } = await connection.run(
      "SELECT pid, backend_start::text FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid()",
    );
    const [pid, startedAt] = rows[0] ?? [];
    note({ name, session: { id: Number(pid), startedAt: String(startedAt) } });
    passFailpoint(POINTS.write);
    await beginExact(connection, "READ WRITE");
    await landChanges(connection, changes);
    const number = (await connection.run("SELECT txid_current()")).rows[0]?.[0];
    passFailpoint(POINTS.prepare);
    const { command } = await connection.run(`PREPARE TRANSACTION '${nameText(name)}'`, [], "");
    if (command !== "PREPARE")
      throw new SandboxCommitError(`The server answered ${command}: nothing landed.`, { hint: "Try again." });
    return { transactionNumber: String(number) };
  } finally {
    // Without PREPARE, this ends the transaction.
    await connection.close();
  }
}

/** Commits a prepared transaction; says how it ended. */
export async function commitAttempt(
  login: ServerLogin,
  name: TransactionName,
  evidence: Evidence,
): Promise<Outcome> {
  passFailpoint(POINTS.commit);
  return await resolving(login, (resolver) => landPrepared(resolver, name, evidence));
}

/**
 * Rolls an attempt back, whether it is prepared or not; afterwards it can't become so. Returns how it ended,
 * if there is evidence: it may have been committed.
 */
export async function rollBackAttempt(
  login: ServerLogin,
  { name, session }: Attempt,
  evidence: Evidence = {},
): Promise<Outcome> {
  passFailpoint(POINTS.rollBack);
  return await resolving(login, async (resolver) => {
    await resolver.endSession(session);
    const listed = await resolver.prepared(name);
    if (listed.some(({ serial }) => serial === name.serial)) {
      await resolver.finish(name, "rollback");
      return "rolled back";
    }
    return await resolver.outcome(name, evidence);
  });
}

async function resolving<T>(
  login: ServerLogin,
  action: (resolver: PostgresResolver) => Promise<T>,
): Promise<T> {
  const resolver = await PostgresResolver.open(login);
  try {
    return await action(resolver);
  } finally {
    await resolver.close();
  }
}
