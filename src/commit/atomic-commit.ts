import { advance } from "../core/commit-machine.ts";
import {
  BusyError,
  PlanStateError,
  SandboxStateError,
  StateError,
  UsageError,
} from "../core/errors/errors.ts";
import type { Owner } from "../core/owner.ts";
import { ROOT_PATH } from "../core/paths/byte-path.ts";
import { movePlan, type PlanRecord, resourceById } from "../core/plan.ts";
import type { SandboxRecord, SandboxRef } from "../core/sandbox.ts";
import {
  irreversibleIn,
  isUnfinished,
  type LastingResource,
  landingsAmong,
  type Participant,
  reversibleIn,
  type TransactionRecord,
} from "../core/transaction.ts";
import { claimsOf } from "../sandboxes/access/claims.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import { claimsExclude } from "../store/claims.ts";
import { newId } from "../system/state/new-id.ts";
import type { ChosenPaths, CommitAllOptions, CommitAllResult, UndoOptions } from "./commit-all.ts";
import { type Coordinator, DryRunEnd } from "./coordinator.ts";
import { commitFailure, failingAsOne } from "./failure.ts";
import { planDuring } from "./journal.ts";
import type { Outcome } from "./outcome.ts";
import {
  assertForeignHaveWord,
  assertReversible,
  choosing,
  participantsOf,
  withWord,
} from "./participants.ts";

/**
 * Commits and undoes plans: claims the plan and its originals, puts the transaction together, records it, and
 * lets the coordinator run it. The journal's record is durable before anything is prepared.
 */
export class AtomicCommit {
  readonly #session: PlanSession;
  readonly #coordinator: Coordinator;

  constructor(session: PlanSession, coordinator: Coordinator) {
    this.#session = session;
    this.#coordinator = coordinator;
  }

  /**
   * Lands everything, or nothing. If commands run in the plan, they stand still meanwhile; everything then
   * lands as a part does, and the plan stays open for them. Fails only by `AtomicCommitError`.
   */
  async commitAll(planId: string, options: CommitAllOptions): Promise<CommitAllResult> {
    return await failingAsOne("commit", () =>
      this.#locked(planId, (plan, owner) =>
        this.#whileHeld(plan, async () => {
          const { participants, more } = await this.#toCommit(plan, options);
          return resultOf(
            plan,
            await this.#begin(plan, owner, { direction: "commit", participants, ...more }, options),
          );
        }),
      ),
    );
  }

  /**
   * Takes back the last landing of a plan that was not undone yet, of all participants at once, with the same
   * journal and the same guarantees. An open plan with landed parts stays open. Fails only by
   * `AtomicCommitError`.
   */
  async undo(planId: string, options: UndoOptions = {}): Promise<CommitAllResult> {
    return await failingAsOne("undo", () =>
      this.#locked(planId, async (plan, owner) => {
        const { landed, ...facts } = await this.#toUndo(plan, options);
        try {
          return resultOf(plan, await this.#begin(plan, owner, { direction: "undo", ...facts }));
        } catch (thrown) {
          const { namingLaterPlans } = await import("./later-landings.ts");
          throw await namingLaterPlans(this.#session.store, plan, landed, thrown);
        }
      }),
    );
  }

  async #toCommit(plan: PlanRecord, options: CommitAllOptions) {
    const { store, sandboxes, settings, protects } = this.#session;
    movePlan(plan, "applying");
    sandboxes.assertUnused(plan);
    if (plan.readOnly)
      throw new UsageError(`The plan ${plan.name} is read-only and can't be applied.`, { code: "READ_ONLY" });
    const records = await store.sandboxesOf(plan.id);
    for (const sandbox of records) assertReady(plan, sandbox);
    await options.review?.();
    const capabilitiesOf = (ref: SandboxRef) => sandboxes.capabilitiesOf(ref);
    const all = await participantsOf(plan, records, capabilitiesOf);
    const part = await options.choose?.();
    if (part !== undefined && options.squash === true)
      throw new UsageError("A part of the work has no commits, so they can't become one.", {
        hint: "Commits land with the rest, when the whole plan is applied.",
      });
    const chosen = part ?? (sandboxes.hold.isHeld(plan.id) ? everythingOf(all) : undefined);
    const taking = chosen === undefined ? all : await choosing(all, chosen, sandboxes);
    assertAllowed(taking, plan, options);
    const participants = withWord(plan, taking, {
      configured: settings.allowSelfRunning,
      allow: options.allow ?? [],
      protect: await protects(),
    });
    await assertForeignHaveWord(plan, participants, sandboxes);
    const more: Partial<TransactionRecord> = {
      ...(chosen !== undefined && { staysIn: "open" }),
      ...(options.message !== undefined && { message: options.message }),
      ...(options.squash === true && { squash: true }),
      ...(options.afterRestart === true && { afterRestart: true }),
    };
    return { participants, more };
  }

  async #toUndo(plan: PlanRecord, { leave = [] }: UndoOptions) {
    const { store, sandboxes } = this.#session;
    movePlan(plan, "undoing");
    const landings = landingsAmong(await store.transactionsOf(plan.id));
    if (plan.state === "open" && landings.length === 0) throw new PlanStateError(plan, "undoing");
    sandboxes.assertUnused(plan);
    const landed = undoable(plan, landings.at(-1));
    const leaves = leaving(plan, landed, leave);
    const participants = reversibleIn(landed)
      .map((participant) => undoParticipant(participant))
      .reverse();
    const staysIn: TransactionRecord["staysIn"] = plan.state === "open" ? "open" : "applied";
    const isLast = landings.length === 1 && plan.state !== "open";
    return {
      landed,
      participants,
      undoes: landed.id,
      ...(leaves.length > 0 && { leaves }),
      ...(!isLast && { staysIn }),
    };
  }

  /**
   * Takes a transaction over from a dead process and brings it to its end. The caller holds its claims.
   * Commands went on when that process died.
   */
  async takeOver(plan: PlanRecord, transaction: TransactionRecord, owner: Owner): Promise<Outcome> {
    return await this.#whileHeld(plan, () =>
      this.#coordinator.run(advance({ ...transaction, owner }, { was: "recovered" })),
    );
  }

  /** Continues as a person decided, where the journal can't tell. */
  async settle(planId: string, how: "commit" | "abort"): Promise<Outcome> {
    return await this.#locked(planId, async (plan, owner) => {
      const pending = (await this.#session.store.transactionsOf(plan.id)).find(isUnfinished);
      if (pending === undefined)
        throw new UsageError(`Nothing of the plan ${plan.name} is in doubt.`, {
          hint: "There is nothing to settle.",
        });
      // A landing that can't finish may be given up; everything else follows from the journal.
      const isGivenUp = pending.phase === "landing" && pending.direction === "commit" && how === "abort";
      if (pending.phase !== "in-doubt" && !isGivenUp) return await this.takeOver(plan, pending, owner);
      return await this.#whileHeld(plan, () =>
        this.#coordinator.run(advance({ ...pending, owner }, { was: "settled", how })),
      );
    });
  }

  /** Refuses, before anything is recorded, a participant that could neither land nor be taken back here. */
  async #begin(
    plan: PlanRecord,
    owner: Owner,
    facts: Pick<TransactionRecord, "direction" | "participants"> & Partial<TransactionRecord>,
    options: { readonly dryRun?: boolean } = {},
  ): Promise<Outcome> {
    const { sandboxes, now } = this.#session;
    for (const { ref } of facts.participants) await sandboxes.strategy(ref.strategyName).assertUsable(ref);
    const startedAt = now().toISOString();
    return await this.#coordinator.run(
      { id: newId(), planId: plan.id, owner, startedAt, phase: "preparing", ...facts },
      options,
    );
  }

  async #whileHeld<T>(plan: PlanRecord, action: () => Promise<T>): Promise<T> {
    return await this.#session.sandboxes.hold.during(plan, "apply", action);
  }

  async #locked<T>(planId: string, action: (plan: PlanRecord, owner: Owner) => Promise<T>): Promise<T> {
    return await this.#session.plans.withOriginals(planId, async (plan, owner) => {
      await this.#assertOriginalsFree(plan);
      return await action(plan, owner);
    });
  }

  /** The unfinished commit of a dead process blocks its originals, though no living process claims them. */
  async #assertOriginalsFree(plan: PlanRecord): Promise<void> {
    const { store } = this.#session;
    const keys = claimsOf(plan);
    for (const pending of await store.unfinishedTransactions()) {
      if (pending.planId === plan.id || pending.phase === "landed") continue;
      const other = await store.plan(pending.planId);
      if (other === undefined || !claimsOf(other).some((key) => keys.some((own) => claimsExclude(own, key))))
        continue;
      throw new BusyError(
        `An original of this plan has an unfinished commit of the plan ${other.name} (${other.id}).`,
        {
          holder: `plan ${other.id}`,
          code: "UNFINISHED_COMMIT",
          details: { planId: other.id },
        },
      );
    }
  }
}

/** Everything as a part: it lands by copies, and the sandboxes go on. */
function everythingOf(participants: readonly Participant[]): readonly ChosenPaths[] {
  return participants.map(({ resource }) => ({ resource, only: [ROOT_PATH] }));
}

/** Refuses a plan whose undo record is gone. */
function undoable(plan: PlanRecord, landed: TransactionRecord | undefined): TransactionRecord {
  if (landed === undefined || landed.undoRecord !== undefined) {
    const when = landed?.finishedAt === undefined ? "" : ` It was applied at ${landed.finishedAt}.`;
    throw new StateError(`The plan ${plan.name} can't be undone: its undo record is no longer kept.${when}`, {
      hint: "sandbox.undo.keep in the configuration says how long undo records are kept.",
      code: "UNDO_DISCARDED",
    });
  }
  return landed;
}

/** What stays as it landed: everything that can't be taken back, if the user's word covers it. */
function leaving(
  plan: PlanRecord,
  landed: TransactionRecord,
  leave: readonly string[],
): readonly LastingResource[] {
  const stuck = irreversibleIn(landed);
  const isStuck = (name: string) => stuck.some(({ resource }) => resource === name);
  const needless = leave.find((name) => !isStuck(name));
  if (needless !== undefined)
    throw new UsageError(`Nothing of ${needless} would stay: only what can't be taken back can be left.`, {
      hint: "Leave out its name; it is taken back with the rest.",
    });
  const first = stuck.find(({ resource }) => !leave.includes(resource));
  const isAll = stuck.length > 0 && reversibleIn(landed).length === 0;
  if (first !== undefined || isAll) {
    const { resource, ref } = first ?? landed.participants[0] ?? {};
    throw new UsageError(
      `The plan ${plan.name} can't be undone: ${resource} can't be taken back (${ref?.strategyName}).`,
      { hint: isAll ? "Take it back by hand." : leaveHint(stuck), code: "IRREVERSIBLE" },
    );
  }
  return stuck.map(({ resource, ref, kind, changes, prepared }) => ({
    resource,
    strategy: ref.strategyName,
    ...(kind !== "in-place" && { changes: changes ?? prepared?.changes ?? 0 }),
  }));
}

function leaveHint(stuck: readonly Participant[]): string {
  const names = stuck.map(({ resource }) => resource);
  const option = names.map((name) => `--leave ${name}`).join(" ");
  return `Say that ${names.join(" and ")} may stay as landed ('leave', or ${option}), and the rest is taken back.`;
}

function undoParticipant(participant: Participant): Participant {
  const { ref, resource, kind, prepared, changes } = participant;
  if (kind === "two-phase" && prepared !== undefined)
    return { ref, resource, kind, status: "waiting", undoes: prepared };
  // The rollback of a one-phase participant can be repeated, so it counts as prepared.
  return { ref, resource, kind, status: "prepared", prepared: { changes: changes ?? 0, data: {} } };
}

function assertAllowed(
  participants: readonly Participant[],
  plan: PlanRecord,
  options: CommitAllOptions,
): void {
  const inPlace = participants.some(({ kind }) => kind === "in-place");
  assertReversible(participants, plan.allowIrreversible || (options.allowIrreversible === true && !inPlace));
}

function assertReady(plan: PlanRecord, { state, ref, error }: SandboxRecord): void {
  if (state === "CREATED" || state === "ACTIVE" || state === "ROLLED_BACK" || state === "COMMITTED") return;
  const resource = resourceById(plan, ref.resourceId)?.name ?? ref.resourceId;
  throw new SandboxStateError(
    `The sandbox of ${resource} is ${state}${error === undefined ? "" : `: ${error}`}.`,
    {
      from: state,
      to: "PREPARED",
      hint: "Cancel the plan and make a new one.",
    },
  );
}

/** Calls nothing that could fail: a landed plan must not be reported as failed. */
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
    ...(record.leaves !== undefined && { stays: record.leaves }),
    warnings: [
      ...outcome.warnings,
      ...inPlaceWarnings(record),
      ...(outcome.cause instanceof DryRunEnd ? preparedWarnings(record) : []),
    ],
  };
}

function preparedWarnings({ participants }: TransactionRecord): string[] {
  return participants.flatMap(({ resource, prepared }) =>
    (prepared?.warnings ?? []).map((warning) => `${resource}: ${warning}`),
  );
}

function inPlaceWarnings(record: TransactionRecord): string[] {
  return record.participants.flatMap(({ kind, resource }) =>
    kind === "in-place"
      ? [`${resource} is worked on in place: atomicity does not hold for it, and it can't be undone`]
      : [],
  );
}
