import { participantAt, transactionFor } from "../../commit/transaction-parts.ts";
import type { PreparedCommit } from "../../core/strategy.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import type { PlanSandboxes } from "../../sandboxes/plan-sandboxes.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { type Answer, type Call, deedOf } from "../protocol/call.ts";
import type { Note } from "../protocol/note.ts";

const POINTS = { run: failpoint("host.run"), ran: failpoint("host.ran") };

/** A step of a transaction at the sandbox of this host, as the database has the transaction. */
export interface Deed {
  readonly call: Call;
  readonly record: TransactionRecord;
  readonly note: Note;
  readonly dryRun: boolean;
}

/** Runs the methods of this host's own strategies in a transaction. */
export class Deeds {
  readonly #sandboxes: PlanSandboxes;

  constructor(sandboxes: PlanSandboxes) {
    this.#sandboxes = sandboxes;
  }

  /** What the strategy answers. */
  async answer(deed: Deed): Promise<Answer> {
    passFailpoint(POINTS.run);
    const answer = await this.#answer(deed);
    passFailpoint(POINTS.ran);
    return answer;
  }

  /** Takes back what is given up, without being asked to. */
  async takeBack(record: TransactionRecord, note: Note) {
    const index = indexOf(record, note.sandbox);
    const { ref } = participantAt(record, index);
    const strategy = this.#sandboxes.strategy(ref.strategyName);
    passFailpoint(POINTS.run);
    if (note.kind === "two-phase")
      return await strategy.rollbackPrepared(ref, transactionFor(record, index), note.prepared);
    await strategy.rollback(ref);
    await strategy.restoreCheckpoint(ref, checkpointId(record));
    return [];
  }

  async #answer({ call, record, note, dryRun }: Deed): Promise<Answer> {
    const index = indexOf(record, call.sandbox);
    const participant = participantAt(record, index);
    const { ref, kind } = participant;
    const strategy = this.#sandboxes.strategy(ref.strategyName);
    const transaction = transactionFor(record, index);
    // What this host has prepared itself is right, also where the record does not have it yet.
    const prepared: PreparedCommit | undefined = note.prepared ?? participant.prepared;
    switch (call.method) {
      case "prepare": {
        const done = await strategy.prepare(ref, {
          ...transaction,
          ...(dryRun && { dryRun: true as const }),
        });
        return { said: "prepared", prepared: done };
      }
      case "checkpoint": {
        if ((await strategy.diff(ref)).changes.length === 0) return { said: "prepared", prepared: null };
        if (kind === "reversible") await strategy.checkpoint(ref, checkpointId(record));
        return { said: "started" };
      }
      case "commit": {
        const { message } = record;
        const done = await strategy.commit(ref, message === undefined ? {} : { message });
        return { said: "committed", changes: done.changes, attention: done.attention };
      }
      case "commitPrepared": {
        if (prepared === undefined) throw new Error("It was not prepared here.");
        const done = await strategy.commitPrepared(ref, transaction, prepared);
        return { said: "committed", changes: done.changes, attention: done.attention };
      }
      case "rollback":
        await strategy.rollback(ref);
        return deedOf(call) === "land"
          ? { said: "committed", changes: prepared?.changes ?? 0, attention: [] }
          : { said: "rolled-back" };
      case "rollbackPrepared":
        return { said: "taken-back", attention: await strategy.rollbackPrepared(ref, transaction, prepared) };
      case "restoreCheckpoint":
        await strategy.restoreCheckpoint(ref, checkpointId(record));
        return { said: "taken-back", attention: [] };
      case "ask":
      case "change":
        throw new Error(`${call.method} is no step of a transaction.`);
    }
  }
}

function indexOf(record: TransactionRecord, sandbox: string): number {
  return record.participants.findIndex(({ ref }) => ref.sandboxId === sandbox);
}

function checkpointId({ id }: TransactionRecord): string {
  return `before-${id}`;
}
