import type { Change, ChangeSide } from "../core/change.ts";
import type { PlanRecord } from "../core/plan.ts";
import {
  type LandedList,
  landingsAmong,
  type Participant,
  type TransactionRecord,
} from "../core/transaction.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import { transactionFor } from "./transaction-parts.ts";

/** What one resource got by one landing of a plan. */
export interface LandedResource {
  readonly resource: string;
  readonly transaction: TransactionRecord;
  /** In path order. */
  readonly changes: readonly Change[];
  /** How many more there are, of which only the number is kept. */
  readonly unlisted: number;
  /** The content of one side of a change; undefined if it is gone, or was none. */
  read(path: string, side: ChangeSide): Promise<Uint8Array | undefined>;
}

/**
 * What a plan changed by its landings that were not undone, oldest first. As long as a landing can be undone,
 * the strategies tell it from what the undo needs; after that, a list in the journal does.
 */
export async function* landedResources(
  { store, sandboxes }: PlanSession,
  plan: PlanRecord,
): AsyncGenerator<LandedResource> {
  for (const transaction of landingsAmong(await store.transactionsOf(plan.id))) {
    for (const [index, participant] of transaction.participants.entries()) {
      const { resource, changes: count = 0 } = participant;
      if (participant.status !== "committed" || count === 0) continue;
      const told = await toldBy(sandboxes, transaction, index);
      const changes = told?.changes ?? listed(transaction, resource);
      const read = told?.read ?? (async () => undefined);
      yield { resource, transaction, changes, unlisted: unlisted(transaction, resource, count, told), read };
    }
  }
}

type Told = Pick<LandedResource, "changes" | "read">;

/** What the strategy tells, if the landing can still be undone and the strategy keeps a record. */
async function toldBy(
  sandboxes: PlanSession["sandboxes"],
  transaction: TransactionRecord,
  index: number,
): Promise<Told | undefined> {
  const { ref, prepared } = transaction.participants[index] as Participant;
  if (transaction.undoRecord !== undefined || prepared === undefined) return undefined;
  const strategy = sandboxes.strategy(ref.strategyName);
  const its = transactionFor(transaction, index);
  const changes = await strategy.landed(ref, its, prepared);
  if (changes === undefined) return undefined;
  return {
    changes,
    read: async (path, side) => await strategy.readLanded(ref, path, { transaction: its, prepared, side }),
  };
}

function listed({ landed }: TransactionRecord, resource: string): readonly Change[] {
  return (landed?.changes ?? []).filter((change) => change.resource === resource);
}

function unlisted(
  { landed }: TransactionRecord,
  resource: string,
  count: number,
  told: Told | undefined,
): number {
  if (told !== undefined) return 0;
  return landed === undefined ? count : (landed.unlisted[resource] ?? 0);
}

/**
 * The list of a landing's changes for the journal, when its undo record goes. Of each resource it has at most
 * its share of `most`, and the number of the rest.
 */
export async function landedList(
  sandboxes: PlanSession["sandboxes"],
  transaction: TransactionRecord,
  most: number,
): Promise<LandedList> {
  const changes: LandedList["changes"][number][] = [];
  const unlisted: { [resource: string]: number } = {};
  for (const [index, { resource, status, changes: count = 0 }] of transaction.participants.entries()) {
    if (status !== "committed" || count === 0) continue;
    const told = (await toldBy(sandboxes, transaction, index))?.changes;
    const kept = (told ?? []).slice(0, Math.max(0, most - changes.length));
    for (const { path, operation, kind, note } of kept)
      changes.push({ resource, path, operation, kind, ...(note !== undefined && { note }) });
    const rest = (told?.length ?? count) - kept.length;
    if (rest > 0) unlisted[resource] = rest;
  }
  return { changes, unlisted };
}
