import type { UndoRetention } from "../../commit/cleanup/undo-retention.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import { findPlace } from "../../engine/workspace/workspace.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { CleanupItem, PurgeResult } from "../plan-views.ts";
import { sizeOf } from "./place-size.ts";

const REASON = "its plan can be undone as long as it is kept";

/** The undo records that were made before this time, with their places and sizes. */
export async function undoRecordItems(
  session: PlanSession,
  before: Date,
): Promise<readonly { readonly transactionId: string; readonly items: readonly CleanupItem[] }[]> {
  const records = await session.store.undoRecords(before.toISOString());
  return records.map((landed) => ({ transactionId: landed.id, items: itemsOf(session, landed) }));
}

/** Frees these undo records: their plans can't be undone any more. */
export async function freeUndoRecords(
  session: PlanSession,
  retention: UndoRetention,
  options: { readonly before: Date; readonly dryRun: boolean },
): Promise<Pick<PurgeResult, "removed" | "kept" | "failed">> {
  const removed: CleanupItem[] = [];
  const kept: (CleanupItem & { why: string })[] = [];
  const failed: (CleanupItem & { message: string })[] = [];
  for (const { transactionId, items } of await undoRecordItems(session, options.before)) {
    const [failure] = options.dryRun ? [] : await retention.discard(transactionId);
    const after = await session.store.transaction(transactionId);
    if (failure !== undefined) failed.push(...items.map((item) => ({ ...item, message: failure.why })));
    else if (options.dryRun || after?.undoRecord === "discarded") removed.push(...items);
    else kept.push(...items.map((item) => ({ ...item, why: "another process works on its plan" })));
  }
  return { removed, kept, failed };
}

function itemsOf({ stateDir, now }: PlanSession, landed: TransactionRecord): readonly CleanupItem[] {
  const { planId, finishedAt, participants } = landed;
  const age = finishedAt === undefined ? Number.NaN : now().getTime() - Date.parse(finishedAt);
  return participants.flatMap(({ ref, status }) => {
    const location = status === "committed" ? findPlace(stateDir, ref.sandboxId)?.path : undefined;
    const bytes = location === undefined ? undefined : sizeOf(location);
    if (location === undefined || bytes === undefined) return [];
    const ageSeconds = Number.isNaN(age) ? null : Math.max(0, Math.floor(age / 1000));
    return [{ kind: "undo record", planId, location, ageSeconds, bytes, reason: REASON }];
  });
}
