import { SandboxCommitError } from "../../../core/errors/errors.ts";
import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import type { CloneChanges } from "../../server/clone/clone-changes.ts";
import {
  type Evidence,
  nameText,
  type ServerLogin,
  type ServerSession,
  type TransactionName,
} from "../../server/server-database.ts";
import { PostgresConnection } from "../postgres-connection.ts";
import { beginExact } from "./exact-session.ts";
import { landChanges } from "./land-changes.ts";

const POINTS = {
  write: failpoint("clone.write-original"),
  prepare: failpoint("clone.prepare"),
};

/**
 * Writes changes into the original, in one transaction that is then prepared. `note` records the attempt
 * durably before anything is written.
 */
export async function prepareChanges(
  login: ServerLogin,
  name: TransactionName,
  changes: CloneChanges,
  note: (attempt: { readonly name: TransactionName; readonly session: ServerSession }) => void,
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
