import { openTransactionResolver } from "../../database/open-server.ts";
import { landPrepared } from "../../database/server/land-prepared.ts";
import type {
  Evidence,
  Outcome,
  ServerLogin,
  TransactionName,
  TransactionResolver,
} from "../../database/server/server-database.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { Attempt } from "./clone.ts";

const POINTS = {
  commit: failpoint("clone.commit-prepared"),
  rollBack: failpoint("clone.roll-back-prepared"),
};

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
  action: (resolver: TransactionResolver) => Promise<T>,
): Promise<T> {
  const resolver = await openTransactionResolver(login);
  try {
    return await action(resolver);
  } finally {
    await resolver.close();
  }
}
