import { advance, type CommitEvent, type Effect, nextEffect } from "../core/commit-machine.ts";
import { InterruptedError, messageOf, SandboxRollbackError, StateError } from "../core/errors/errors.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import type { Durability, StoreChange } from "../store/store.ts";
import { nextTurn } from "../system/next-turn.ts";
import type { LandedCleanup } from "./cleanup/landed-cleanup.ts";
import { Journal } from "./journal.ts";
import { forAll, isStuck, type Outcome, stuckBy } from "./outcome.ts";
import { ParticipantCalls } from "./participant-calls.ts";
import { attentionIn, historyDetails, landedAs, reportOf } from "./transaction-parts.ts";

/** An outcome in progress. */
interface Run extends Outcome {
  readonly dryRun: boolean;
}

/** The end of a dry run: like an interruption right before the decision. */
export class DryRunEnd extends InterruptedError {}

const DECISION_UNKNOWN = "DECISION_UNKNOWN";

/**
 * Drives the commit machine: performs each effect, reports the result to the machine, and saves the record in
 * between. The same loop runs a new commit, an undo, and either of them after a crash.
 */
export class Coordinator {
  readonly #session: PlanSession;
  readonly #cleanup: LandedCleanup;
  readonly #journal: Journal;
  readonly #calls: ParticipantCalls;

  constructor(session: PlanSession, cleanup: LandedCleanup) {
    this.#session = session;
    this.#cleanup = cleanup;
    this.#journal = new Journal(session.store);
    this.#calls = new ParticipantCalls(session.sandboxes);
  }

  /** Saves a transaction durably, and runs it to its end or as far as it goes. */
  async run(start: TransactionRecord, options: { readonly dryRun?: boolean } = {}): Promise<Outcome> {
    const dryRun = options.dryRun === true;
    // Recovery may have found the doubt.
    const inDoubt = start.phase === "in-doubt" ? this.#attention(start) : [];
    await this.#journal.save(start, "durable", inDoubt);
    let outcome: Outcome = { record: start, unfinished: [], warnings: [] };
    for (
      let effect = nextEffect(start);
      effect !== undefined && !isStuck(outcome);
      effect = nextEffect(outcome.record)
    ) {
      outcome = { ...outcome, ...(await this.#perform({ ...outcome, dryRun }, effect)) };
    }
    return outcome;
  }

  async #perform(run: Run, effect: Effect): Promise<Partial<Outcome>> {
    const { record } = run;
    switch (effect.do) {
      case "prepare":
        return await this.#undecided(run, effect, () => this.#prepare(run, effect.index));
      case "start-reversible":
      case "start-irreversible":
        return await this.#undecided(run, effect, () => this.#start(record, effect.index));
      case "commit-reversible":
      case "commit-irreversible":
        return await this.#undecided(run, effect, () => this.#commit(record, effect.index));
      case "decide":
        return await this.#undecided(run, effect, () => this.#decide(record));
      case "land":
        return await this.#landAll(run, effect.indexes);
      case "finish":
        return await this.#finish(record);
      case "clean":
        return await this.#clean(record);
      case "take-back":
        return await this.#takeAllBack(run, effect.indexes);
      case "abort":
        return await this.#abort(record);
    }
  }

  /**
   * Performs a step before the decision. If it fails, or the user interrupts, the transaction turns back.
   */
  async #undecided(
    { record, dryRun }: Run,
    effect: Effect,
    step: () => Promise<TransactionRecord>,
  ): Promise<Partial<Outcome>> {
    try {
      // A one-phase commit is real at once, so a dry run ends before the first one.
      if (dryRun && effect.do !== "prepare")
        throw new DryRunEnd("This was a dry run: everything was prepared and taken back.");
      if (!hasBegunIrreversible(record)) await this.#stopIfAsked();
      return { record: await step() };
    } catch (thrown) {
      if (isDecisionUnknown(thrown)) return stuckBy(thrown);
      return { record: await this.#fail(record, effect, thrown), cause: thrown };
    }
  }

  async #prepare({ record, dryRun }: Run, index: number): Promise<TransactionRecord> {
    return await this.#saveUnlessSavedNext(record, await this.#calls.prepare(record, index, dryRun));
  }

  async #start(record: TransactionRecord, index: number): Promise<TransactionRecord> {
    const event = await this.#calls.start(record, index);
    return await this.#save(record, event, event.was === "started" ? "durable" : "ordered");
  }

  async #commit(record: TransactionRecord, index: number): Promise<TransactionRecord> {
    return await this.#save(record, await this.#calls.commit(record, index), "durable");
  }

  /**
   * A durable write that failed may still be on disk after a power cut. So a second durable write says that
   * everything is taken back, before anything is. If that fails too, nothing is touched, and recovery finds
   * out what is on disk.
   */
  async #decide(record: TransactionRecord): Promise<TransactionRecord> {
    try {
      return await this.#save(record, { was: "decided" }, "durable");
    } catch (thrown) {
      try {
        await this.#save(record, { was: "failed", ...reportOf(record, undefined, thrown) }, "durable");
      } catch (again) {
        throw new StateError(`The decision could not be written: ${messageOf(again)}`, {
          cause: again,
          code: DECISION_UNKNOWN,
        });
      }
      throw thrown;
    }
  }

  async #fail(record: TransactionRecord, effect: Effect, thrown: unknown): Promise<TransactionRecord> {
    const index = "index" in effect ? effect.index : undefined;
    // Otherwise a power cut leaves a doubt, and a person could land one participant after the others were
    // taken back.
    const durability = hasBegunIrreversible(record) ? "durable" : "ordered";
    return await this.#save(record, { was: "failed", ...reportOf(record, index, thrown) }, durability);
  }

  async #landAll(run: Run, indexes: readonly number[]): Promise<Partial<Outcome>> {
    return await forAll(run, indexes, async (record, index) => {
      const event = await this.#calls.land(record, index);
      try {
        return { record: await this.#saveUnlessSavedNext(record, event) };
      } catch {
        // The end records the landing once more, so a failure to note it now is no failure of the landing.
        return { record: advance(record, event) };
      }
    });
  }

  /**
   * If the end can't be written, the next start lands everything once more and writes it. The plan has landed
   * all the same.
   */
  async #finish(record: TransactionRecord): Promise<Partial<Outcome>> {
    const event: CommitEvent = { was: "finished", at: this.#session.now().toISOString() };
    try {
      const durability = (await this.#canLandAgain(record)) ? "ordered" : "durable";
      return { record: await this.#save(record, event, durability, landedAs(record)) };
    } catch (thrown) {
      const warnings = [`it has landed, and the next start records that: ${messageOf(thrown)}`];
      return { record: advance(record, event), warnings };
    }
  }

  /**
   * A commit keeps what it needs to land again as its undo record, even when its sandboxes are removed. So a
   * power cut that loses its end only costs a repetition of the last step.
   */
  async #canLandAgain({ direction, participants, staysIn }: TransactionRecord): Promise<boolean> {
    // Work goes on in the sandbox of a part.
    if (staysIn !== undefined) return false;
    if (direction !== "commit" || participants.some(({ kind }) => kind !== "two-phase")) return false;
    for (const { ref } of participants)
      if (!(await this.#session.sandboxes.capabilitiesOf(ref)).undo) return false;
    return true;
  }

  /**
   * A failed removal keeps the transaction open, and the next start tries again. The plan has landed all the
   * same.
   */
  async #clean(record: TransactionRecord): Promise<Partial<Outcome>> {
    try {
      const warnings = await this.#cleanup.after(record);
      return warnings.length > 0
        ? { warnings }
        : { record: await this.#save(record, { was: "cleaned" }, "ordered") };
    } catch (thrown) {
      return { warnings: [`the next start cleans up: ${messageOf(thrown)}`] };
    }
  }

  async #takeAllBack(run: Run, indexes: readonly number[]): Promise<Partial<Outcome>> {
    return await forAll(run, indexes, async (record, index) => {
      try {
        return { record: await this.#saveUnlessSavedNext(record, await this.#calls.takeBack(record, index)) };
      } catch (thrown) {
        if (!isFinal(thrown)) throw thrown;
        const event: CommitEvent = { was: "not-taken-back", index, message: messageOf(thrown) };
        return { record: await this.#save(record, event, "ordered"), cause: thrown };
      }
    });
  }

  async #abort(record: TransactionRecord): Promise<Partial<Outcome>> {
    const event: CommitEvent = { was: "aborted", at: this.#session.now().toISOString() };
    const told = record.direction === "commit" ? "not applied" : "not undone";
    try {
      return { record: await this.#save(record, event, "ordered", told) };
    } catch (thrown) {
      return stuckBy(thrown);
    }
  }

  /**
   * Saves unless the decision or the end, which come next, save it too. A process that finds neither takes
   * back, or lands once more.
   */
  async #saveUnlessSavedNext(record: TransactionRecord, event: CommitEvent): Promise<TransactionRecord> {
    const next = advance(record, event);
    const { do: saves } = nextEffect(next) ?? {};
    return saves === "decide" || saves === "finish" ? next : await this.#save(record, event, "ordered");
  }

  async #save(
    record: TransactionRecord,
    event: CommitEvent,
    durability: Durability,
    told?: "not applied" | "not undone" | ReturnType<typeof landedAs>,
  ): Promise<TransactionRecord> {
    const next = advance(record, event);
    const { history } = this.#session;
    const entries =
      told === undefined
        ? []
        : [history.entry(next.planId, told, historyDetails(next)), ...this.#attention(next)];
    await this.#journal.save(next, durability, entries);
    return next;
  }

  /** The entry of the history that asks for a person, if the transaction needs one. */
  #attention(record: TransactionRecord): readonly StoreChange[] {
    const details = attentionIn(record);
    if (details === undefined) return [];
    return [this.#session.history.entry(record.planId, "needs attention", details)];
  }

  /**
   * Lets the event loop turn, because only then does Node notice a signal, and preparing may not have let it.
   */
  async #stopIfAsked(): Promise<void> {
    await nextTurn();
    if (this.#session.operations.signal.aborted) throw new InterruptedError();
  }
}

/** From here on, stopping would only leave behind what can't be taken back. */
function hasBegunIrreversible({ participants }: TransactionRecord): boolean {
  return participants.some(
    ({ kind, status }) => kind === "irreversible" && (status === "started" || status === "committed"),
  );
}

/** Whether a retry can't help: what has landed stays. */
function isFinal(thrown: unknown): boolean {
  return thrown instanceof SandboxRollbackError && thrown.code === "IRREVERSIBLE";
}

function isDecisionUnknown(thrown: unknown): boolean {
  return thrown instanceof StateError && thrown.code === DECISION_UNKNOWN;
}
