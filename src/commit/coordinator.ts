import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { advance, type CommitEvent, type Effect, nextEffect } from "../core/commit-machine.ts";
import { InterruptedError, messageOf, SandboxRollbackError, StateError } from "../core/errors.ts";
import type { CommitResult } from "../core/strategy.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { HistoryEntry } from "../store/store.ts";
import type { Journal } from "./journal.ts";
import { historyDetails, landedAs, participantAt, reportOf, transactionFor } from "./transaction-parts.ts";

/** What the coordinator needs from outside. */
export interface CoordinatorParts {
  readonly journal: Journal;
  readonly sandboxes: PlanSandboxes;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  /** Removes what a landed transaction no longer needs; says what it could not. */
  readonly clean: (transaction: TransactionRecord) => Promise<readonly string[]>;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
}

/** How a run of the coordinator ended. */
export interface Outcome {
  readonly record: TransactionRecord;
  /** What could not be done now and is left to recovery. */
  readonly unfinished: readonly { readonly resource: string; readonly message: string }[];
  readonly warnings: readonly string[];
  readonly cause?: unknown;
}

/** How a dry run ends: like an interruption right before the decision. */
export class DryRunEnd extends InterruptedError {}

const TRIES_AFTER_DECISION = 3;
const BETWEEN_TRIES_MS = 50;

/**
 * Drives the commit machine: does what it says, tells it what came of it, and saves the record in between. The same loop runs a new commit,
 * an undo, and whatever a crash left of either.
 */
export class Coordinator {
  readonly #parts: CoordinatorParts;

  constructor(parts: CoordinatorParts) {
    this.#parts = parts;
  }

  /** Runs a transaction that has been saved, to its end or as far as it goes. */
  async run(start: TransactionRecord, options: { readonly dryRun?: boolean } = {}): Promise<Outcome> {
    let outcome: Outcome = { record: start, unfinished: [], warnings: [] };
    for (
      let effect = nextEffect(start);
      effect !== undefined && !isStuck(outcome);
      effect = nextEffect(outcome.record)
    ) {
      outcome = { ...outcome, ...(await this.#perform(outcome, effect, options.dryRun === true)) };
    }
    return outcome;
  }

  async #perform({ record, cause }: Outcome, effect: Effect, dryRun: boolean): Promise<Partial<Outcome>> {
    if (effect.do === "clean") return await this.#clean(record);
    if (effect.do === "finish") return await this.#finish(record);
    if (effect.do === "land" || effect.do === "take-back") {
      const step = await this.#forAll(record, effect.do);
      return { ...step, cause: cause ?? step.cause };
    }
    try {
      // A one-phase commit is already the real thing, so a dry run ends before the first of them.
      if (dryRun && record.phase === "preparing" && effect.do !== "prepare")
        throw new DryRunEnd("This was a dry run: everything was prepared and taken back.");
      return { record: await this.#step(record, effect) };
    } catch (thrown) {
      const isBeforeDecision = record.phase === "preparing" && !isDecisionUnknown(thrown);
      if (!isBeforeDecision) return { unfinished: [{ resource: "", message: messageOf(thrown) }], cause: thrown };
      return { record: await this.#fail(record, effect, thrown), cause: thrown };
    }
  }

  /** What could not be removed now keeps the transaction open, and the next start tries again. It has landed all the same. */
  async #clean(record: TransactionRecord): Promise<Partial<Outcome>> {
    try {
      const warnings = await this.#parts.clean(record);
      return warnings.length > 0 ? { warnings } : { record: await this.#save(record, { was: "cleaned" }, "ordered") };
    } catch (thrown) {
      return { warnings: [`the next start tidies up once more: ${messageOf(thrown)}`] };
    }
  }

  /** All of it is in the originals. If that can't be written down, the next start lands it once more and does; it has landed all the same. */
  async #finish(record: TransactionRecord): Promise<Partial<Outcome>> {
    const event: CommitEvent = { was: "finished", at: this.#parts.now().toISOString() };
    try {
      const durability = (await this.#canLandAgain(record)) ? "ordered" : "durable";
      return { record: await this.#save(record, event, durability, landedAs(record)) };
    } catch (thrown) {
      const warnings = [`it has landed, which the next start writes down: ${messageOf(thrown)}`];
      return { record: advance(record, event), warnings };
    }
  }

  async #step(record: TransactionRecord, effect: Effect): Promise<TransactionRecord> {
    const { now } = this.#parts;
    if (record.phase === "preparing" && !hasBegunIrreversible(record)) await this.#stopIfAsked();
    switch (effect.do) {
      case "prepare":
        return await this.#prepare(record, effect.index);
      case "start-reversible":
        if (await this.#hasNothing(record, effect.index)) return await this.#passOver(record, effect.index);
        await this.#strategyOf(record, effect.index).checkpoint(refOf(record, effect.index), checkpointId(record));
        return await this.#save(record, { was: "started", index: effect.index }, "durable");
      case "start-irreversible":
        if (await this.#hasNothing(record, effect.index)) return await this.#passOver(record, effect.index);
        return await this.#save(record, { was: "started", index: effect.index }, "durable");
      case "commit-reversible":
      case "commit-irreversible": {
        const result = await this.#strategyOf(record, effect.index).commit(refOf(record, effect.index));
        return await this.#save(record, { was: "committed", index: effect.index, ...outcomeOf(result) }, "durable");
      }
      case "decide":
        return await this.#decide(record);
      case "abort":
        return await this.#save(
          record,
          { was: "aborted", at: now().toISOString() },
          "ordered",
          record.direction === "commit" ? "not applied" : "not undone",
        );
      default:
        throw new Error(`No such step: ${effect.do}`);
    }
  }

  /**
   * What a commit needs to land again stays, as its undo record, when the sandboxes are removed. So losing the end of such a commit in a
   * power cut costs nothing but doing the last step once more.
   */
  async #canLandAgain({ direction, participants, staysIn }: TransactionRecord): Promise<boolean> {
    // The sandbox that a part came from goes on.
    if (staysIn !== undefined) return false;
    if (direction !== "commit" || participants.some(({ kind }) => kind !== "two-phase")) return false;
    for (const { ref } of participants) if (!(await this.#parts.sandboxes.capabilitiesOf(ref)).undo) return false;
    return true;
  }

  async #prepare(record: TransactionRecord, index: number): Promise<TransactionRecord> {
    const prepared = await this.#strategyOf(record, index).prepare(refOf(record, index), transactionFor(record, index));
    return await this.#saveUnlessSavedNext(record, { was: "prepared", index, prepared });
  }

  /** A one-phase participant has no prepare that could say so. */
  async #hasNothing(record: TransactionRecord, index: number): Promise<boolean> {
    return (await this.#strategyOf(record, index).diff(refOf(record, index))).changes.length === 0;
  }

  async #passOver(record: TransactionRecord, index: number): Promise<TransactionRecord> {
    return await this.#save(record, { was: "prepared", index, prepared: null }, "ordered");
  }

  /**
   * A durable write that failed may still come back after a power cut. So before anything is taken back, it is recorded, durably too,
   * that it will be; if even that fails, nothing is touched and recovery finds out what is on disk.
   */
  async #decide(record: TransactionRecord): Promise<TransactionRecord> {
    const decided = advance(record, { was: "decided" });
    try {
      await this.#parts.journal.save(decided, "durable");
      return decided;
    } catch (thrown) {
      try {
        await this.#parts.journal.save(
          advance(record, { was: "failed", ...reportOf(record, undefined, thrown) }),
          "durable",
        );
      } catch (again) {
        throw new StateError(`The decision could not be written: ${messageOf(again)}`, {
          cause: again,
          code: DECISION_UNKNOWN,
        });
      }
      throw thrown;
    }
  }

  /** Does the same to all participants that need it; one that fails does not stop the others. */
  async #forAll(
    start: TransactionRecord,
    what: "land" | "take-back",
  ): Promise<{ record: TransactionRecord; unfinished: Outcome["unfinished"]; cause: unknown }> {
    let record = start;
    let cause: unknown;
    const unfinished: { resource: string; message: string }[] = [];
    const order = record.participants.map((_, index) => index);
    if (what === "take-back") order.reverse();
    for (const index of order.filter((index) => isWanted(start, index, what))) {
      try {
        const event = await this.#patiently(
          () => (what === "land" ? this.#land(record, index) : this.#takeBack(record, index)),
          what,
        );
        record =
          what === "land" ? await this.#noteLanded(record, event) : await this.#saveUnlessSavedNext(record, event);
      } catch (thrown) {
        cause ??= thrown;
        if (what === "take-back" && isFinal(thrown))
          record = await this.#save(record, { was: "not-taken-back", index, message: messageOf(thrown) }, "ordered");
        else unfinished.push({ resource: record.participants[index]?.resource ?? "", message: messageOf(thrown) });
      }
    }
    return { record, unfinished, cause };
  }

  /** The end says this too, so that it can't be noted meanwhile is no failure. */
  async #noteLanded(record: TransactionRecord, event: CommitEvent): Promise<TransactionRecord> {
    try {
      return await this.#saveUnlessSavedNext(record, event);
    } catch {
      return advance(record, event);
    }
  }

  async #patiently<T>(action: () => Promise<T>, what: "land" | "take-back"): Promise<T> {
    const tries = what === "land" ? TRIES_AFTER_DECISION : 1;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await action();
      } catch (thrown) {
        if (attempt >= tries) throw thrown;
        await sleep(BETWEEN_TRIES_MS);
      }
    }
  }

  async #land(record: TransactionRecord, index: number): Promise<CommitEvent> {
    const participant = participantAt(record, index);
    const strategy = this.#strategyOf(record, index);
    if (participant.kind === "two-phase" && participant.prepared !== undefined) {
      const result = await strategy.commitPrepared(
        participant.ref,
        transactionFor(record, index),
        participant.prepared,
      );
      return { was: "committed", index, ...outcomeOf(result) };
    }
    // The undo of a one-phase commit: taking it back can be repeated, so it needs no prepare.
    await strategy.rollback(participant.ref);
    return { was: "committed", index, changes: participant.prepared?.changes ?? 0, attention: [] };
  }

  async #takeBack(record: TransactionRecord, index: number): Promise<CommitEvent> {
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

  async #fail(record: TransactionRecord, effect: Effect, thrown: unknown): Promise<TransactionRecord> {
    const index = "index" in effect ? effect.index : undefined;
    // Else a power cut would leave it in doubt, and a person could have it landed after the others were taken back.
    const durability = hasBegunIrreversible(record) ? "durable" : "ordered";
    return await this.#save(record, { was: "failed", ...reportOf(record, index, thrown) }, durability);
  }

  /** The decision and the end say this too. Whoever finds neither takes what was prepared back, or lands it once more. */
  async #saveUnlessSavedNext(record: TransactionRecord, event: CommitEvent): Promise<TransactionRecord> {
    const next = advance(record, event);
    const { do: saves } = nextEffect(next) ?? {};
    return saves === "decide" || saves === "finish" ? next : await this.#save(record, event, "ordered");
  }

  async #save(
    record: TransactionRecord,
    event: CommitEvent,
    durability: "durable" | "ordered",
    historyEvent?: string,
  ): Promise<TransactionRecord> {
    const next = advance(record, event);
    const history =
      historyEvent === undefined ? [] : [this.#parts.history(next.planId, historyEvent, historyDetails(next))];
    await this.#parts.journal.save(next, durability, history);
    return next;
  }

  #strategyOf(record: TransactionRecord, index: number) {
    return this.#parts.sandboxes.strategy(refOf(record, index).strategyName);
  }

  /** A signal from outside is only noticed when the event loop turns, and preparing may not have let it. */
  async #stopIfAsked(): Promise<void> {
    await nextTurn();
    if (this.#parts.signal.aborted) throw new InterruptedError();
  }
}

/** Something is left to recovery, so there is no going on now. */
function isStuck({ unfinished, warnings }: Outcome): boolean {
  return unfinished.length > 0 || warnings.length > 0;
}

/** Whether the machine would have this done if all the others were settled. */
function isWanted(record: TransactionRecord, index: number, what: "land" | "take-back"): boolean {
  const only = {
    ...record,
    participants: record.participants.map((participant, at) =>
      at === index ? participant : { ...participant, status: "undone" as const },
    ),
  };
  const effect = nextEffect(only);
  return effect?.do === what && "index" in effect && effect.index === index;
}

/** From here on stopping would only leave behind what can't be taken back. */
function hasBegunIrreversible({ participants }: TransactionRecord): boolean {
  return participants.some(
    ({ kind, status }) => kind === "irreversible" && (status === "started" || status === "committed"),
  );
}

/** Whether trying again can't help: what has landed stays. */
function isFinal(thrown: unknown): boolean {
  return thrown instanceof SandboxRollbackError && thrown.code === "IRREVERSIBLE";
}

const DECISION_UNKNOWN = "DECISION_UNKNOWN";

function isDecisionUnknown(thrown: unknown): boolean {
  return thrown instanceof StateError && thrown.code === DECISION_UNKNOWN;
}

function refOf(record: TransactionRecord, index: number) {
  return participantAt(record, index).ref;
}

function checkpointId(record: TransactionRecord): string {
  return `before-${record.id}`;
}

function outcomeOf(result: CommitResult | undefined): Pick<CommitResult, "changes" | "attention"> {
  return { changes: result?.changes ?? 0, attention: result?.attention ?? [] };
}
