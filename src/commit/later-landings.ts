import { AtomicCommitError } from "../core/errors/errors.ts";
import { type PlanRecord, resourceById } from "../core/plan.ts";
import { landingsAmong, type TransactionRecord } from "../core/transaction.ts";
import { originalKey } from "../sandboxes/access/claims.ts";
import { claimsExclude } from "../store/claims.ts";
import type { Store } from "../store/store.ts";

/**
 * The error of a refused undo, with the plans that landed in the same originals later: mostly they are in the
 * way, and have to be undone first. Any other error stays as it is.
 */
export async function namingLaterPlans(
  store: Store,
  plan: PlanRecord,
  undone: TransactionRecord,
  thrown: unknown,
): Promise<unknown> {
  if (!(thrown instanceof AtomicCommitError) || thrown.conflicts.length === 0) return thrown;
  const later = await laterPlans(store, plan, undone);
  const [last] = later;
  if (last === undefined) return thrown;
  const names = later.map(({ name, id }) => `${name} (${id})`).join(", ");
  return new AtomicCommitError(
    `${thrown.message} Landed there later: ${names}.`,
    { ...thrown, later: later.map(({ id, name }) => ({ planId: id, name })) },
    { cause: thrown.cause, hint: `Undo the plan ${last.name} first.` },
  );
}

/** The latest first. */
async function laterPlans(
  store: Store,
  plan: PlanRecord,
  undone: TransactionRecord,
): Promise<readonly PlanRecord[]> {
  const own = originalsOf(plan, undone);
  const later: PlanRecord[] = [];
  for await (const id of store.landedPlanIds()) {
    if (id === plan.id) break;
    const other = await store.plan(id);
    if (other === undefined) continue;
    const landings = landingsAmong(await store.transactionsOf(id));
    const theirs = landings.flatMap((landing) => originalsOf(other, landing));
    if (theirs.some((one) => own.some((key) => claimsExclude(key, one)))) later.push(other);
  }
  return later;
}

/** The keys of the originals in which a transaction landed something. */
function originalsOf(plan: PlanRecord, { participants }: TransactionRecord): readonly string[] {
  return participants
    .filter(({ status }) => status === "committed")
    .flatMap(({ ref }) => resourceById(plan, ref.resourceId)?.location ?? [])
    .map(originalKey);
}
