import type { CleanupPolicy } from "../config/settings.ts";
import { messageOf } from "../core/errors.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import { moveSandbox } from "../core/sandbox-states.ts";
import type { Participant, TransactionRecord } from "../core/transaction.ts";
import type { PlanRemains } from "../sandboxes/plan-remains.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { Store } from "../store/store.ts";
import { transactionFor } from "./transaction-parts.ts";

/**
 * What is removed once a transaction has landed: after a commit the sandboxes, unless the policy keeps them or only a part landed, while what an undo needs
 * stays; after an undo the record it used; and of a plan that is over by it what it had besides. One that fails does not stop the others; what could not
 * be removed is returned.
 */
export class Cleaning {
  readonly #store: Store;
  readonly #sandboxes: PlanSandboxes;
  readonly #remains: PlanRemains;
  readonly #policy: CleanupPolicy;

  constructor(store: Store, sandboxes: PlanSandboxes, remains: PlanRemains, policy: CleanupPolicy) {
    this.#store = store;
    this.#sandboxes = sandboxes;
    this.#remains = remains;
    this.#policy = policy;
  }

  async after(record: TransactionRecord): Promise<readonly string[]> {
    const left: string[] = [...(await this.#endCheckpoints(record))];
    for (const [index, participant] of record.participants.entries()) {
      try {
        if (record.direction === "undo") await this.#dropUndoRecord(record, participant, index);
        if (!this.#keepsSandboxes(record)) await this.#removeSandbox(participant.ref);
        await this.#forgetPlaces(record, participant);
      } catch (thrown) {
        left.push(`${participant.resource}: not everything could be removed: ${messageOf(thrown)}`);
      }
    }
    left.push(...(await this.#removeOthers(record)), ...(await this.#forgetRemains(record)));
    if (left.length === 0 && record.undoes !== undefined) await this.#noteUsed(record.undoes);
    return left;
  }

  /** With `on_terminal` the sandboxes of an applied plan stay as long as it can be undone. */
  #keepsSandboxes({ direction, staysIn, participants }: TransactionRecord): boolean {
    if (this.#policy === "manual" || staysIn === "open") return true;
    if (this.#policy !== "on_terminal") return false;
    return staysIn === "applied" || (direction === "commit" && participants.every(canBeUndone));
  }

  /** An undo is of those that had something to land; at its end the others go too, if they were kept until then. */
  async #removeOthers(record: TransactionRecord): Promise<readonly string[]> {
    if (record.direction !== "undo" || this.#keepsSandboxes(record)) return [];
    const left: string[] = [];
    for (const { ref } of await this.#store.sandboxesOf(record.planId)) {
      if (record.participants.some((participant) => participant.ref.sandboxId === ref.sandboxId)) continue;
      try {
        await this.#removeSandbox(ref);
        await this.#store.write([{ drop: "intents", sandboxId: ref.sandboxId }], "ordered");
      } catch (thrown) {
        left.push(`not everything of sandbox ${ref.sandboxId} could be removed: ${messageOf(thrown)}`);
      }
    }
    return left;
  }

  async #forgetRemains({ planId }: TransactionRecord): Promise<readonly string[]> {
    try {
      await this.#remains.forget(planId);
      return [];
    } catch (thrown) {
      return [`what its commands left could not be removed: ${messageOf(thrown)}`];
    }
  }

  /** They are of a time when the originals were others. */
  async #endCheckpoints({ planId }: TransactionRecord): Promise<readonly string[]> {
    return await this.#sandboxes.checkpoints.endAll(planId);
  }

  async #dropUndoRecord(record: TransactionRecord, participant: Participant, index: number): Promise<void> {
    if (participant.kind !== "two-phase" || participant.undoes === undefined || record.undoes === undefined) return;
    const landed = { ...transactionFor(record, index), id: record.undoes, direction: "commit" as const };
    await this.#sandboxes
      .strategy(participant.ref.strategyName)
      .discardUndo(participant.ref, landed, participant.undoes);
  }

  async #removeSandbox(ref: SandboxRef): Promise<void> {
    const sandbox = await this.#store.sandbox(ref.sandboxId);
    if (sandbox === undefined || sandbox.state === "CLEANED_UP") return;
    await this.#sandboxes.strategy(ref.strategyName).cleanup(ref);
    const state = moveSandbox(ref.sandboxId, sandbox.state, "CLEANED_UP");
    await this.#store.write([{ put: "sandbox", record: { ...sandbox, state } }], "ordered");
  }

  /** What is gone for good need no longer be known as something that we made. An undo record, or what a rival had made, is not gone. */
  async #forgetPlaces({ direction }: TransactionRecord, participant: Participant): Promise<void> {
    const { ref, kind, status, isFinal, attention } = participant;
    const hasUndoRecord = kind !== "irreversible" && isFinal !== true;
    const keepsUndoRecord = direction === "commit" && status === "committed" && hasUndoRecord;
    const keepsRivals = attention?.some(({ keptAt }) => keptAt !== undefined) === true;
    if (keepsUndoRecord || keepsRivals) return;
    if ((await this.#store.sandbox(ref.sandboxId))?.state !== "CLEANED_UP") return;
    await this.#store.write([{ drop: "intents", sandboxId: ref.sandboxId }], "ordered");
  }

  async #noteUsed(transactionId: string): Promise<void> {
    const landed = await this.#store.transaction(transactionId);
    if (landed !== undefined)
      await this.#store.write([{ put: "transaction", record: { ...landed, undoRecord: "used" } }], "ordered");
  }
}

function canBeUndone({ kind, status, isFinal }: Participant): boolean {
  return status === "unchanged" || (kind !== "irreversible" && kind !== "in-place" && isFinal !== true);
}
