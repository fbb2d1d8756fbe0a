import { messageOf } from "../../core/errors/errors.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { PreparedCommit } from "../../core/strategy.ts";
import { keepsForeignWork, type Participant, type TransactionRecord } from "../../core/transaction.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { transactionFor } from "../transaction-parts.ts";
import { endsWithUndo } from "./cleanup-policy.ts";

/** An undo record that could not be discarded. */
export interface UndiscardedRecord {
  readonly planId: string;
  readonly why: string;
}

/**
 * Discards undo records that are too old. In this order:
 *
 * 1. the record is `discarding`, with the list of what landed: from here on the plan can't be undone, and a
 *    crash only delays the rest;
 * 2. each strategy removes its part; with `on_terminal` the sandboxes go with the last record of the plan;
 * 3. the record is `discarded`;
 * 4. everything else of the plan goes.
 *
 * If another process works on the plan, the next start tries again.
 */
export class UndoRetention {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  /**
   * Discards the records that are too old. A failure does not stop the others; it is returned, and the next
   * start tries again.
   */
  async run(): Promise<readonly UndiscardedRecord[]> {
    const { store, settings, now } = this.#session;
    const failed: UndiscardedRecord[] = [];
    const oldest = new Date(now().getTime() - settings.undo.keepMilliseconds).toISOString();
    for (const { id, planId } of await store.undoRecords(oldest)) {
      try {
        failed.push(...((await this.discard(id)) ?? []));
      } catch (thrown) {
        failed.push({ planId, why: `its undo record could not be removed: ${messageOf(thrown)}` });
      }
    }
    return failed;
  }

  /**
   * Discards the undo record of one landed transaction, unless another process works on its plan or
   * originals: then it returns undefined. The caller holds no claim on the plan.
   */
  async discard(transactionId: string): Promise<readonly UndiscardedRecord[] | undefined> {
    const { store, plans } = this.#session;
    const known = await store.transaction(transactionId);
    const plan = known === undefined ? undefined : await store.plan(known.planId);
    if (plan === undefined) return [];
    return await plans.withOriginalsIfFree(plan, async (now) => {
      const landed = await store.transaction(transactionId);
      return landed === undefined || !hasUndoRecord(landed) ? [] : await this.#remove(now, landed);
    });
  }

  async #remove(plan: PlanRecord, landed: TransactionRecord): Promise<readonly UndiscardedRecord[]> {
    const { store, history, remains } = this.#session;
    const discarding = await this.#listed(landed);
    await store.write([{ put: "transaction", record: discarding }], "ordered");
    const whys: string[] = [];
    for (const [index, { resource }] of landed.participants.entries()) {
      try {
        await this.#removePart(discarding, index);
      } catch (thrown) {
        whys.push(`the undo record of ${resource} could not be removed: ${messageOf(thrown)}`);
      }
    }
    if (whys.length === 0) whys.push(...(await this.#removeSandboxes(plan, landed)));
    if (whys.length > 0) return whys.map((why) => ({ planId: plan.id, why }));
    const entry = history.entry(plan.id, "undo discarded", { transaction: landed.id });
    await store.write(
      [{ put: "transaction", record: { ...discarding, undoRecord: "discarded" } }, entry],
      "ordered",
    );
    await remains.forget(plan.id);
    return [];
  }

  /** With the list of what it changed, which its undo record will not tell any more. */
  async #listed(landed: TransactionRecord): Promise<TransactionRecord> {
    if (landed.undoRecord === "discarding") return landed;
    const { sandboxes, settings } = this.#session;
    const { landedList } = await import("../landed-changes.ts");
    const list = await landedList(sandboxes, landed, settings.closedPlans.mostChanges);
    return { ...landed, undoRecord: "discarding", landed: list };
  }

  async #removePart(landed: TransactionRecord, index: number): Promise<void> {
    const { store, sandboxes } = this.#session;
    const participant = landed.participants[index];
    const prepared = participant === undefined ? undefined : undoDataOf(participant);
    if (participant === undefined || prepared === undefined) return;
    const { ref } = participant;
    await sandboxes.strategy(ref.strategyName).discardUndo(ref, transactionFor(landed, index), prepared);
    const sandbox = await store.sandbox(ref.sandboxId);
    if (sandbox?.state === "CLEANED_UP" && !keepsForeignWork(participant))
      await sandboxes.removal.remove(sandbox, "nothing");
  }

  async #removeSandboxes(plan: PlanRecord, { id }: TransactionRecord): Promise<readonly string[]> {
    const { store, sandboxes, settings } = this.#session;
    if (!endsWithUndo(settings.cleanup) || plan.state !== "applied") return [];
    const all = await store.transactionsOf(plan.id);
    if (all.some((other) => other.id !== id && hasUndoRecord(other))) return [];
    const { failed } = await sandboxes.cleanupAll(plan);
    return failed.map(({ resource, message }) => `${resource} could not be removed: ${message}`);
  }
}

/** The data that an undo of this participant would need. A one-phase strategy keeps it by itself. */
function undoDataOf({ kind, status, prepared, changes = 0 }: Participant): PreparedCommit | undefined {
  if (status !== "committed") return undefined;
  return kind === "reversible" ? { changes, data: {} } : prepared;
}

function hasUndoRecord({ direction, phase, undoRecord }: TransactionRecord): boolean {
  return (
    direction === "commit" && phase === "done" && (undoRecord === undefined || undoRecord === "discarding")
  );
}
