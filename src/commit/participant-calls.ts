import { setTimeout as sleep } from "node:timers/promises";
import type { CommitEvent } from "../core/commit-machine.ts";
import type { CommitResult } from "../core/strategy.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import { participantAt, transactionFor } from "./transaction-parts.ts";

const TRIES_AFTER_DECISION = 3;
const BETWEEN_TRIES_MS = 50;

/**
 * The calls to strategies in a transaction. Each does one thing to one participant and returns the event.
 */
export class ParticipantCalls {
  readonly #sandboxes: PlanSandboxes;

  constructor(sandboxes: PlanSandboxes) {
    this.#sandboxes = sandboxes;
  }

  async prepare(record: TransactionRecord, index: number, dryRun: boolean): Promise<CommitEvent> {
    const { ref } = participantAt(record, index);
    const transaction = { ...transactionFor(record, index), ...(dryRun && { dryRun: true as const }) };
    const prepared = await this.#strategyOf(record, index).prepare(ref, transaction);
    return { was: "prepared", index, prepared };
  }

  /**
   * Makes a one-phase participant ready. It has no prepare that could report that there is nothing to land,
   * so its diff does. Before a commit that can be taken back, its state is saved.
   */
  async start(record: TransactionRecord, index: number): Promise<CommitEvent> {
    const { ref, kind } = participantAt(record, index);
    const strategy = this.#strategyOf(record, index);
    if ((await strategy.diff(ref)).changes.length === 0) return { was: "prepared", index, prepared: null };
    if (kind === "reversible") await strategy.checkpoint(ref, checkpointId(record));
    return { was: "started", index };
  }

  async commit(record: TransactionRecord, index: number): Promise<CommitEvent> {
    const { message } = record;
    const facts = message === undefined ? {} : { message };
    const result = await this.#strategyOf(record, index).commit(participantAt(record, index).ref, facts);
    return committed(index, result);
  }

  async land(record: TransactionRecord, index: number): Promise<CommitEvent> {
    return await patiently(() => this.#landOnce(record, index));
  }

  async #landOnce(record: TransactionRecord, index: number): Promise<CommitEvent> {
    const { kind, ref, prepared } = participantAt(record, index);
    const strategy = this.#strategyOf(record, index);
    if (kind === "two-phase" && prepared !== undefined)
      return committed(index, await strategy.commitPrepared(ref, transactionFor(record, index), prepared));
    // A rollback undoes a one-phase commit; it can be repeated, so it needs no prepare.
    await strategy.rollback(ref);
    return { was: "committed", index, changes: prepared?.changes ?? 0, attention: [] };
  }

  async takeBack(record: TransactionRecord, index: number): Promise<CommitEvent> {
    const { kind, ref, prepared } = participantAt(record, index);
    const strategy = this.#strategyOf(record, index);
    if (kind === "two-phase") {
      const attention = await strategy.rollbackPrepared(ref, transactionFor(record, index), prepared);
      return { was: "taken-back", index, attention };
    }
    await strategy.rollback(ref);
    await strategy.restoreCheckpoint(ref, checkpointId(record));
    return { was: "taken-back", index, attention: [] };
  }

  #strategyOf(record: TransactionRecord, index: number) {
    return this.#sandboxes.strategy(participantAt(record, index).ref.strategyName);
  }
}

/** Tries a landing a few times, because a passing obstacle must not leave it half done. */
async function patiently<T>(action: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await action();
    } catch (thrown) {
      if (attempt >= TRIES_AFTER_DECISION) throw thrown;
      await sleep(BETWEEN_TRIES_MS);
    }
  }
}

function committed(index: number, result: CommitResult | undefined): CommitEvent {
  return { was: "committed", index, changes: result?.changes ?? 0, attention: result?.attention ?? [] };
}

function checkpointId({ id }: TransactionRecord): string {
  return `before-${id}`;
}
