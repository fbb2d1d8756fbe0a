import type { CleanupPolicy } from "../config/settings.ts";
import { messageOf } from "../core/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { PreparedCommit } from "../core/strategy.ts";
import type { Participant, TransactionRecord } from "../core/transaction.ts";
import { type Claims, originalKey, planKey } from "../sandboxes/claims.ts";
import type { PlanRemains } from "../sandboxes/plan-remains.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { HistoryEntry, Store } from "../store/store.ts";
import { transactionFor } from "./transaction-parts.ts";

export interface UndoRetentionParts {
  readonly store: Store;
  readonly claims: Claims;
  readonly sandboxes: PlanSandboxes;
  readonly now: () => Date;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
  /** How long an applied plan can be undone. */
  readonly keepMilliseconds: number;
  /** With `on_terminal` the sandboxes of an applied plan go with the last record that could take it back. */
  readonly policy: CleanupPolicy;
  readonly remains: PlanRemains;
}

/** An undo record that could not be removed. */
export interface LeftUndoRecord {
  readonly planId: string;
  readonly why: string;
}

/**
 * Lets undo records go that are older than they are to be kept. That one goes is recorded first (`discarding`): from then on the plan can't be
 * undone, and a crash in between only delays the removal. What somebody works on right now is left to the next start.
 */
export class UndoRetention {
  readonly #parts: UndoRetentionParts;

  constructor(parts: UndoRetentionParts) {
    this.#parts = parts;
  }

  /** Lets go what is too old. One that can't be removed does not stop the others; it is returned, and tried again by the next start. */
  async run(): Promise<readonly LeftUndoRecord[]> {
    const { store, now, keepMilliseconds } = this.#parts;
    const left: LeftUndoRecord[] = [];
    const oldest = new Date(now().getTime() - keepMilliseconds).toISOString();
    for (const { id, planId } of await store.undoRecords(oldest)) left.push(...(await this.#tryToDiscard(id, planId)));
    return left;
  }

  async #tryToDiscard(transactionId: string, planId: string): Promise<readonly LeftUndoRecord[]> {
    try {
      return await this.discard(transactionId);
    } catch (thrown) {
      return [{ planId, why: `its undo record could not be removed: ${messageOf(thrown)}` }];
    }
  }

  /** Lets the undo record of one landed transaction go, unless somebody works on its plan or originals. */
  async discard(transactionId: string): Promise<readonly LeftUndoRecord[]> {
    const { store, claims } = this.#parts;
    const known = await store.transaction(transactionId);
    const plan = known === undefined ? undefined : await store.plan(known.planId);
    if (plan === undefined) return [];
    const keys = [planKey(plan.id), ...plan.resources.map(({ resource }) => originalKey(resource.location))];
    const left = await claims.ifFree(keys, async () => {
      const now = await store.transaction(transactionId);
      return now === undefined || !isKept(now) ? [] : await this.#remove(plan, now);
    });
    return left ?? [];
  }

  async #remove(plan: PlanRecord, landed: TransactionRecord): Promise<readonly LeftUndoRecord[]> {
    const { store, history } = this.#parts;
    const discarding: TransactionRecord = { ...landed, undoRecord: "discarding" };
    await store.write([{ put: "transaction", record: discarding }], "ordered");
    const left: LeftUndoRecord[] = [];
    for (const index of landed.participants.keys()) {
      try {
        await this.#removePart(discarding, index);
      } catch (thrown) {
        const resource = landed.participants[index]?.resource ?? "";
        left.push({
          planId: plan.id,
          why: `the undo record of ${resource} could not be removed: ${messageOf(thrown)}`,
        });
      }
    }
    if (left.length === 0) left.push(...(await this.#removeSandboxes(plan, landed)));
    if (left.length > 0) return left;
    await store.write(
      [
        { put: "transaction", record: { ...landed, undoRecord: "discarded" } },
        { put: "history", record: history(plan.id, "undo discarded", { transaction: landed.id }) },
      ],
      "ordered",
    );
    await this.#parts.remains.forget(plan.id);
    return [];
  }

  async #removeSandboxes(plan: PlanRecord, { id }: TransactionRecord): Promise<readonly LeftUndoRecord[]> {
    const { store, sandboxes, policy } = this.#parts;
    const now = await store.plan(plan.id);
    if (policy !== "on_terminal" || now?.state !== "applied") return [];
    const others = (await store.transactionsOf(plan.id)).filter((other) => other.id !== id && isKept(other));
    if (others.length > 0) return [];
    const { failed } = await sandboxes.cleanupAll(now);
    return failed.map(({ resource, message }) => ({
      planId: plan.id,
      why: `${resource} could not be removed: ${message}`,
    }));
  }

  async #removePart(landed: TransactionRecord, index: number): Promise<void> {
    const { store, sandboxes } = this.#parts;
    const participant = landed.participants[index];
    if (participant === undefined || participant.status !== "committed") return;
    const { ref } = participant;
    const prepared = preparedBy(participant);
    if (prepared === undefined) return;
    await sandboxes.strategy(ref.strategyName).discardUndo(ref, transactionFor(landed, index), prepared);
    const isGone = (await store.sandbox(ref.sandboxId))?.state === "CLEANED_UP";
    if (isGone && !keepsRivals(participant))
      await store.write([{ drop: "intents", sandboxId: ref.sandboxId }], "ordered");
  }
}

/** What a one-phase participant that can be taken back keeps, it keeps by itself. */
function preparedBy({ kind, prepared, changes = 0 }: Participant): PreparedCommit | undefined {
  return kind === "reversible" ? { changes, data: {} } : prepared;
}

function isKept({ direction, phase, undoRecord }: TransactionRecord): boolean {
  return direction === "commit" && phase === "done" && (undoRecord === undefined || undoRecord === "discarding");
}

/** What a rival had made is kept for him, whatever becomes of the undo. */
function keepsRivals({ attention }: Participant): boolean {
  return attention?.some(({ keptAt }) => keptAt !== undefined) === true;
}
