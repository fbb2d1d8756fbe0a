import { failpoint, passFailpoint } from "../../../system/failpoints.ts";
import type { CloneChanges } from "../../server/clone/clone-changes.ts";
import type { Evidence, ServerLogin, ServerSession, TransactionName } from "../../server/server-database.ts";
import { MysqlConnection } from "../mysql-connection.ts";
import { serverStart } from "../mysql-facts.ts";
import { forgetMarker, makeMarkerTable, markStatement } from "../mysql-marker.ts";
import { xaName } from "../mysql-xa.ts";
import { asStored, beExact } from "./exact-session.ts";
import { landable, landChanges } from "./land-changes.ts";

const POINTS = {
  marker: failpoint("clone.make-marker"),
  write: failpoint("clone.write-mariadb"),
  prepare: failpoint("clone.prepare-mariadb"),
  forget: failpoint("clone.forget-marker"),
};

/**
 * Writes changes into the original, in one XA transaction that is then prepared, with the mark that tells
 * its outcome (mysql-marker.ts). `note` records the attempt durably before anything is written there but the
 * empty table of the mark, which `forgetChanges` removes.
 */
export async function prepareChanges(
  login: ServerLogin,
  name: TransactionName,
  changes: CloneChanges,
  note: (attempt: { readonly name: TransactionName; readonly session: ServerSession }) => void,
): Promise<Evidence> {
  const connection = await MysqlConnection.open(login);
  try {
    note({ name, session: { id: connection.id, startedAt: String(await serverStart(connection)) } });
    await beExact(connection);
    const references = await landable(connection, changes);
    passFailpoint(POINTS.marker);
    const marker = await makeMarkerTable(login, name);
    passFailpoint(POINTS.write);
    await asStored(connection);
    await connection.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    await connection.run(`XA START ${xaName(name)}`);
    await landChanges(connection, changes, references);
    // From the first row on, no definition of these tables can change any more. Before that, one may have.
    await landable(connection, changes);
    if (marker !== undefined) await connection.run(markStatement(marker, name));
    await connection.run(`XA END ${xaName(name)}`);
    passFailpoint(POINTS.prepare);
    await connection.run(`XA PREPARE ${xaName(name)}`);
    return marker === undefined ? {} : { marker };
  } finally {
    // Without XA PREPARE, this ends the transaction. With it, others see it only from now on.
    await connection.close();
  }
}

/** Removes the table of the mark. */
export async function forgetChanges(
  login: ServerLogin,
  of: Pick<TransactionName, "planId" | "resourceId">,
): Promise<void> {
  passFailpoint(POINTS.forget);
  await forgetMarker(login, of);
}
