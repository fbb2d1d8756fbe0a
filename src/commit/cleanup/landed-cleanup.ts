import { messageOf } from "../../core/errors/errors.ts";
import type { SandboxRecord } from "../../core/sandbox.ts";
import type { Participant, TransactionRecord } from "../../core/transaction.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { transactionFor } from "../transaction-parts.ts";
import { keepsLanded, staysBehind } from "./cleanup-policy.ts";

/**
 * Cleans up after a transaction has landed. One failure does not stop the rest. In this order:
 *
 * 1. the plan's checkpoints, which belong to earlier states of the originals;
 * 2. for each participant: the undo record that an undo used, and its sandbox, unless the policy keeps it;
 * 3. at the end of an undo, the sandboxes that had nothing to land;
 * 4. everything else of the plan, if it is over now;
 * 5. the undone commit is recorded as such, if all of this worked.
 */
export class LandedCleanup {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  /** Returns the failures, a sentence each. */
  async after(record: TransactionRecord): Promise<readonly string[]> {
    const { sandboxes, remains } = this.#session;
    const warnings = [...(await sandboxes.checkpoints.endAll(record.planId))];
    for (const [index, participant] of record.participants.entries()) {
      try {
        if (record.direction === "undo") await this.#dropUndoRecord(record, participant, index);
        await this.#removeSandbox(record, participant);
      } catch (thrown) {
        warnings.push(`${participant.resource}: not everything could be removed: ${messageOf(thrown)}`);
      }
    }
    warnings.push(...(await this.#removeOthers(record)), ...(await remains.tryToForget(record.planId)));
    if (warnings.length === 0 && record.undoes !== undefined) await this.#noteUsed(record.undoes);
    return warnings;
  }

  async #dropUndoRecord(record: TransactionRecord, participant: Participant, index: number): Promise<void> {
    const { ref, kind, undoes } = participant;
    if (kind !== "two-phase" || undoes === undefined || record.undoes === undefined) return;
    const landed = { ...transactionFor(record, index), id: record.undoes, direction: "commit" as const };
    await this.#session.sandboxes.strategy(ref.strategyName).discardUndo(ref, landed, undoes);
  }

  async #removeSandbox(record: TransactionRecord, participant: Participant): Promise<void> {
    const { store, sandboxes, settings } = this.#session;
    const sandbox = await store.sandbox(participant.ref.sandboxId);
    if (sandbox === undefined || (!isGone(sandbox) && keepsLanded(settings.cleanup, record))) return;
    await sandboxes.removal.remove(sandbox, staysBehind(record, participant));
  }

  /**
   * An undo concerns the participants that had something to land; at its end the other sandboxes of the plan
   * go too.
   */
  async #removeOthers(record: TransactionRecord): Promise<readonly string[]> {
    const { store, sandboxes, settings } = this.#session;
    if (record.direction !== "undo" || keepsLanded(settings.cleanup, record)) return [];
    const warnings: string[] = [];
    const took = new Set(record.participants.map(({ ref }) => ref.sandboxId));
    for (const sandbox of await store.sandboxesOf(record.planId)) {
      const { sandboxId } = sandbox.ref;
      if (took.has(sandboxId)) continue;
      try {
        await sandboxes.removal.remove(sandbox, "nothing");
      } catch (thrown) {
        warnings.push(`not everything of sandbox ${sandboxId} could be removed: ${messageOf(thrown)}`);
      }
    }
    return warnings;
  }

  async #noteUsed(transactionId: string): Promise<void> {
    const { store } = this.#session;
    const landed = await store.transaction(transactionId);
    if (landed !== undefined)
      await store.write([{ put: "transaction", record: { ...landed, undoRecord: "used" } }], "ordered");
  }
}

function isGone({ state }: SandboxRecord): boolean {
  return state === "CLEANED_UP";
}
