import type { RemoteTransaction } from "./remote-transaction.ts";

/**
 * Notes for the user about a held transaction: how long it lasts, because it holds locks, and what it can't
 * do.
 */
export async function transactionNotes(remote: RemoteTransaction): Promise<readonly string[]> {
  const { record } = remote;
  const why = remote.ref.metadata["whyNoPrepare"];
  const notes = [
    typeof why === "string"
      ? `it can only land in one step (${why}), so it goes last, and has to be allowed as irreversible`
      : "it can't be undone once it has landed",
  ];
  if (record?.state !== "open" && record?.state !== "lost") return notes;
  const { beganAt, idleEnd, end } = await remote.status();
  return [
    `its transaction is open since ${beganAt}; it ends at ${idleEnd} if it is not used before, and at ${end} in any case`,
    ...notes,
  ];
}
