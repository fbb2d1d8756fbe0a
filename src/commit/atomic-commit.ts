import { advance } from "../core/commit-machine.ts";
import { BusyError, PlanStateError, SandboxStateError, StateError, UsageError } from "../core/errors.ts";
import type { Owner } from "../core/owner.ts";
import { movePlan, type PlanRecord } from "../core/plan.ts";
import type { SandboxRecord, SandboxRef } from "../core/sandbox.ts";
import type { Participant, TransactionRecord } from "../core/transaction.ts";
import { type Claims, originalKey, planKey } from "../sandboxes/claims.ts";
import type { CommitAllOptions, CommitAllResult, PlanCommitter } from "../sandboxes/manager.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import { claimsExclude } from "../store/claims.ts";
import type { Store } from "../store/store.ts";
import { newId } from "../system/new-id.ts";
import { type Coordinator, DryRunEnd, type Outcome } from "./coordinator.ts";
import { commitFailure, failingAsOne } from "./failure.ts";
import { type Journal, planDuring } from "./journal.ts";
import { assertForeignHaveWord, withWord } from "./landing-word.ts";
import { assertReversible, choosing, participantsOf } from "./participants.ts";

export interface AtomicCommitParts {
  readonly store: Store;
  readonly sandboxes: PlanSandboxes;
  readonly claims: Claims;
  readonly journal: Journal;
  readonly coordinator: Coordinator;
  readonly now: () => Date;
  /** `[RESOURCE:]PATTERN` each: what may always land though tools run it by themselves. */
  readonly allow: readonly string[];
  /** Refuses a plan inside which a command runs. */
  readonly assertUnused: (plan: PlanRecord) => void;
}

/**
 * Commits and undoes plans: locks the plan and its originals, puts the transaction together, records it, and lets the coordinator
 * run it. The journal's record is durable before anything is prepared.
 */
export class AtomicCommit implements PlanCommitter {
  readonly #parts: AtomicCommitParts;

  constructor(parts: AtomicCommitParts) {
    this.#parts = parts;
  }

  /** Lands everything, or nothing. Fails only by `AtomicCommitError`. */
  async commitAll(planId: string, options: CommitAllOptions): Promise<CommitAllResult> {
    return await failingAsOne("commit", () => this.#commitAll(planId, options));
  }

  /**
   * Takes the last landing of a plan back that is still there: the same journal, the same guarantees, over all
   * participants at once. An open plan, of which parts have landed, stays open. Fails only by
   * `AtomicCommitError`.
   */
  async undo(planId: string): Promise<CommitAllResult> {
    return await failingAsOne("undo", () => this.#undo(planId));
  }

  async #commitAll(planId: string, options: CommitAllOptions): Promise<CommitAllResult> {
    return await this.#locked(planId, async (plan, owner) => {
      movePlan(plan, "applying");
      this.#parts.assertUnused(plan);
      if (plan.readOnly)
        throw new UsageError(`The plan ${plan.name} is read-only and can't be applied.`, {
          hint: "Make a plan without --read-only.",
          code: "READ_ONLY",
        });
      const sandboxes = await this.#parts.store.sandboxesOf(plan.id);
      for (const sandbox of sandboxes) assertReady(plan, sandbox);
      await options.review?.();
      const capabilitiesOf = (ref: SandboxRef) => this.#parts.sandboxes.capabilitiesOf(ref);
      const all = await participantsOf(plan, sandboxes, capabilitiesOf);
      const chosen = await options.choose?.();
      const taking = chosen === undefined ? all : await choosing(all, chosen, capabilitiesOf);
      assertAllowed(taking, plan, options);
      const participants = withWord(plan, taking, [...this.#parts.allow, ...(options.allow ?? [])]);
      await assertForeignHaveWord(plan, participants, this.#parts.sandboxes);
      const outcome = await this.#begin(
        this.#newRecord(plan, owner, "commit", participants, {
          ...(chosen !== undefined && { staysIn: "open" }),
          ...(options.message !== undefined && { message: options.message }),
          ...(options.afterRestart === true && { afterRestart: true }),
        }),
        options,
      );
      return resultOf(plan, outcome);
    });
  }

  async #undo(planId: string): Promise<CommitAllResult> {
    return await this.#locked(planId, async (plan, owner) => {
      movePlan(plan, "undoing");
      const landings = await this.#landings(plan);
      if (plan.state === "open" && landings.length === 0) throw new PlanStateError(plan, "undoing");
      this.#parts.assertUnused(plan);
      const landed = undoable(plan, landings.at(-1));
      const participants = landed.participants
        .filter(({ status }) => status === "committed")
        .map((participant) => undoParticipant(participant))
        .reverse();
      const isLast = landings.length === 1 && plan.state !== "open";
      const staysIn = plan.state === "open" ? "open" : "applied";
      const more: Partial<TransactionRecord> = { undoes: landed.id, ...(!isLast && { staysIn }) };
      return resultOf(plan, await this.#begin(this.#newRecord(plan, owner, "undo", participants, more), {}));
    });
  }

  /** Takes a transaction over from a dead process and brings it to its end. The caller holds its claims. */
  async takeOver(transaction: TransactionRecord, owner: Owner): Promise<Outcome> {
    const recovered = advance({ ...transaction, owner }, { was: "recovered" });
    await this.#parts.journal.save(recovered, "durable");
    return await this.#parts.coordinator.run(recovered);
  }

  /** Goes on as a person has decided, where nobody else could know. */
  async settle(planId: string, how: "commit" | "abort"): Promise<Outcome> {
    return await this.#locked(planId, async (plan, owner) => {
      const pending = (await this.#parts.store.transactionsOf(plan.id)).find(
        ({ phase }) => phase !== "done" && phase !== "aborted",
      );
      if (pending === undefined)
        throw new UsageError(`Nothing of the plan ${plan.name} is in doubt.`, { hint: "There is nothing to settle." });
      // A landing that can't finish may be given up; everything else knows its own way.
      const isGivenUp = pending.phase === "landing" && pending.direction === "commit" && how === "abort";
      if (pending.phase !== "in-doubt" && !isGivenUp) return await this.takeOver(pending, owner);
      const settled = advance({ ...pending, owner }, { was: "settled", how });
      await this.#parts.journal.save(settled, "durable");
      return await this.#parts.coordinator.run(settled);
    });
  }

  async #locked<T>(planId: string, action: (plan: PlanRecord, owner: Owner) => Promise<T>): Promise<T> {
    const { store, claims } = this.#parts;
    const known = await mustFind(store, planId);
    return await claims.holding(keysOf(known), `The plan ${known.name} or one of its originals`, async (owner) => {
      const plan = await mustFind(store, planId);
      await this.#assertOriginalsFree(plan);
      return await action(plan, owner);
    });
  }

  /** A commit that a crash left unfinished keeps its originals to itself, though nobody living claims them. */
  async #assertOriginalsFree(plan: PlanRecord): Promise<void> {
    const { store } = this.#parts;
    const keys = keysOf(plan);
    for (const pending of await store.unfinishedTransactions()) {
      if (pending.planId === plan.id || pending.phase === "landed") continue;
      const other = await store.plan(pending.planId);
      if (other === undefined || !keysOf(other).some((key) => keys.some((own) => claimsExclude(own, key)))) continue;
      throw new BusyError(
        `An original of this plan has an unfinished commit of the plan ${other.name} (${other.id}).`,
        {
          holder: `plan ${other.id}`,
          hint: `Run 'drydock recover', or settle it with 'drydock recover ${other.id} --commit' or '--abort'.`,
        },
      );
    }
  }

  /** What could neither land nor be taken back here is refused before anything is recorded. */
  async #begin(record: TransactionRecord, options: { readonly dryRun?: boolean }): Promise<Outcome> {
    for (const { ref } of record.participants) await this.#parts.sandboxes.strategy(ref.strategyName).assertUsable(ref);
    await this.#parts.journal.save(record, "durable");
    return await this.#parts.coordinator.run(record, options);
  }

  #newRecord(
    plan: PlanRecord,
    owner: Owner,
    direction: "commit" | "undo",
    participants: readonly Participant[],
    more: Partial<TransactionRecord>,
  ): TransactionRecord {
    const startedAt = this.#parts.now().toISOString();
    return { id: newId(), planId: plan.id, direction, owner, startedAt, phase: "preparing", participants, ...more };
  }

  /** What has landed of a plan and was not taken back, the earliest first. */
  async #landings(plan: PlanRecord): Promise<readonly TransactionRecord[]> {
    const all = await this.#parts.store.transactionsOf(plan.id);
    return all.filter(
      ({ direction, phase, undoRecord }) =>
        direction === "commit" && (phase === "done" || phase === "landed") && undoRecord !== "used",
    );
  }
}

/** Refuses what can't be taken back. */
function undoable(plan: PlanRecord, landed: TransactionRecord | undefined): TransactionRecord {
  if (landed === undefined || landed.undoRecord !== undefined) {
    const when = landed?.finishedAt === undefined ? "" : ` It was applied at ${landed.finishedAt}.`;
    throw new StateError(`The plan ${plan.name} can't be undone: its undo record is no longer kept.${when}`, {
      hint: "How long one is kept says sandbox.undo.keep in the configuration.",
      code: "UNDO_DISCARDED",
    });
  }
  const stuck =
    landed.participants.find(
      ({ kind, status, isFinal }) =>
        status === "committed" && (kind === "irreversible" || kind === "in-place" || isFinal === true),
    ) ?? landed.participants.find(({ kind }) => kind === "in-place");
  if (stuck === undefined) return landed;
  throw new UsageError(
    `The plan ${plan.name} can't be undone: ${stuck.resource} can't be taken back (${stuck.ref.strategyName}).`,
    { hint: "Take it back by hand.", code: "IRREVERSIBLE" },
  );
}

function undoParticipant(participant: Participant): Participant {
  const { ref, resource, kind, prepared, changes } = participant;
  if (kind === "two-phase" && prepared !== undefined)
    return { ref, resource, kind, status: "waiting", undoes: prepared };
  // One-phase: its rollback can be repeated, so it is as good as prepared.
  return { ref, resource, kind, status: "prepared", prepared: { changes: changes ?? 0, data: {} } };
}

function keysOf(plan: PlanRecord): string[] {
  return [planKey(plan.id), ...plan.resources.map(({ resource }) => originalKey(resource.location))];
}

function assertAllowed(participants: readonly Participant[], plan: PlanRecord, options: CommitAllOptions): void {
  const inPlace = participants.some(({ kind }) => kind === "in-place");
  assertReversible(participants, plan.allowIrreversible || (options.allowIrreversible === true && !inPlace));
}

function assertReady(plan: PlanRecord, { state, ref, error }: SandboxRecord): void {
  if (state === "CREATED" || state === "ACTIVE" || state === "ROLLED_BACK" || state === "COMMITTED") return;
  const resource =
    plan.resources.find((candidate) => candidate.resource.id === ref.resourceId)?.resource.name ?? ref.resourceId;
  throw new SandboxStateError(`The sandbox of ${resource} is ${state}${error === undefined ? "" : `: ${error}`}.`, {
    from: state,
    to: "PREPARED",
    hint: "Cancel the plan and make a new one.",
  });
}

async function mustFind(store: Store, planId: string): Promise<PlanRecord> {
  const plan = await store.plan(planId);
  if (plan === undefined)
    throw new UsageError(`There is no plan ${planId}.`, {
      hint: "List plans with 'drydock plan list --all'.",
      code: "UNKNOWN_PLAN",
    });
  return plan;
}

/** Nothing is asked here that could fail: what has landed must not be reported as failed. */
function resultOf(plan: PlanRecord, outcome: Outcome): CommitAllResult {
  const { record } = outcome;
  const succeeded =
    record.phase === "done" ||
    record.phase === "landed" ||
    (outcome.cause instanceof DryRunEnd && record.phase === "aborted");
  if (!succeeded) throw commitFailure(outcome);
  const { state, message } = planDuring(plan, record);
  return {
    state,
    ...(message !== undefined && { message }),
    participants: record.participants.map(({ resource, ref, status, changes, prepared }) => ({
      resource,
      strategy: ref.strategyName,
      outcome: status === "unchanged" ? "unchanged" : "committed",
      changes: changes ?? prepared?.changes ?? 0,
    })),
    attention: record.participants.flatMap(({ resource, attention }) =>
      (attention ?? []).map((item) => ({ resource, ...item })),
    ),
    warnings: [...outcome.warnings, ...inPlaceWarnings(record)],
  };
}

function inPlaceWarnings(record: TransactionRecord): string[] {
  return record.participants.flatMap(({ kind, resource }) =>
    kind === "in-place"
      ? [`${resource} is worked on in place: atomicity does not hold for it, and it can't be undone`]
      : [],
  );
}
