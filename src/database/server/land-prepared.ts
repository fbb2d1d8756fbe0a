import type { Evidence, Outcome, TransactionName, TransactionResolver } from "./server-database.ts";

const MOST_TRIES = 3;

/** Commits a prepared transaction, unless it has ended; says how it ended. */
export async function landPrepared(
  resolver: TransactionResolver,
  name: TransactionName,
  evidence: Evidence,
): Promise<Outcome> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await resolver.outcome(name, evidence);
    if (outcome !== "prepared") return outcome;
    try {
      await resolver.finish(name, "commit");
    } catch (thrown) {
      // Whatever the error says, the next look at the server shows the outcome.
      if (tries === MOST_TRIES) throw thrown;
    }
  }
}
