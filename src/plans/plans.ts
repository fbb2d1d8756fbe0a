import type { AtomicCommit } from "../commit/atomic-commit.ts";
import type { PlanClosing } from "../commit/cleanup/plan-closing.ts";
import type { UndoOptions } from "../commit/commit-all.ts";
import { failingAsOne } from "../commit/failure.ts";
import { PlanStateError } from "../core/errors/errors.ts";
import { boundariesOf, type PlanRecord } from "../core/plan.ts";
import { lazyValue } from "../engine/work/lazy-value.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import { throwIfFailed } from "../sandboxes/sweep-report.ts";
import { withReserve } from "../system/state/reserve.ts";
import type { PlanDescriptions } from "./describe-plan.ts";
import type { PlanContents } from "./entries/plan-contents.ts";
import type { ApplyResult, InteractiveOptions, LandedPlan } from "./landing-views.ts";
import type { PlanJoining } from "./making/plan-joining.ts";
import type { PlanCreation } from "./plan-creation.ts";
import type { AddOptions, CreatePlanOptions, ListPlansOptions, PlanView } from "./plan-views.ts";
import { hasUnwritable } from "./resources/restrictions.ts";
import type { PlanChecks, PlanInspection } from "./review/plan-inspection.ts";
import type { PartRollbacks } from "./updates/part-rollbacks.ts";
import type { PlanUpdates } from "./updates/plan-updates.ts";
import type { RollbackOptions, RollbackResult } from "./updates/update-views.ts";

export interface PlansParts {
  readonly session: PlanSession;
  /** Loaded when a plan is made. */
  readonly creation: () => Promise<PlanCreation>;
  /** Loaded when a resource joins a plan. */
  readonly joining: () => Promise<PlanJoining>;
  /** Loaded when an apply has to merge first. */
  readonly updates: () => Promise<PlanUpdates>;
  /** Loaded when changes are taken out of a plan. */
  readonly partRollbacks: () => Promise<PartRollbacks>;
  readonly commit: AtomicCommit;
  readonly closing: PlanClosing;
  /** Loaded when a plan is shown. */
  readonly descriptions: () => Promise<PlanDescriptions>;
  readonly checks: PlanChecks;
}

/**
 * What users do with plans, in their words. A plan is named by its id, a unique prefix of it, or its name;
 * without one, the only open plan is meant. A resource is named by its name; without one, the only resource
 * is meant.
 */
export class Plans {
  readonly #parts: PlansParts;
  // Loaded when they are used: an apply without a review needs neither.
  readonly #contents = lazyValue(
    async () => new (await import("./entries/plan-contents.ts")).PlanContents(this.#parts.session),
  );
  readonly #inspection = lazyValue(
    async () =>
      new (await import("./review/plan-inspection.ts")).PlanInspection(
        this.#parts.session,
        this.#parts.checks,
      ),
  );
  readonly path: PlanContents["path"] = async (...given) => (await this.#contents()).path(...given);
  readonly read: PlanContents["read"] = async (...given) => (await this.#contents()).read(...given);
  readonly write: PlanContents["write"] = async (...given) => (await this.#contents()).write(...given);
  readonly sql: PlanContents["sql"] = async (...given) => (await this.#contents()).sql(...given);
  readonly diff: PlanInspection["diff"] = async (...given) => (await this.#inspection()).diff(...given);
  readonly approve: PlanInspection["approve"] = async (...given) =>
    (await this.#inspection()).approve(...given);
  readonly requestReview: PlanInspection["requestReview"] = async (...given) =>
    (await this.#inspection()).requestReview(...given);
  readonly approval: PlanInspection["approval"] = async (...given) =>
    (await this.#inspection()).approval(...given);

  constructor(parts: PlansParts) {
    this.#parts = parts;
  }

  /** Makes a plan and its sandboxes, all or none. Checks everything before it makes anything. */
  async create(options: CreatePlanOptions): Promise<PlanView> {
    return await (await this.#parts.creation()).create(options);
  }

  /**
   * Takes resources into an open plan, all or none, with what its commands wrote there outside of the plan.
   */
  async add(plan: string | undefined, options: AddOptions): Promise<PlanView> {
    return await (await this.#parts.joining()).add(plan, options);
  }

  async list(options: ListPlansOptions = {}): Promise<readonly PlanView[]> {
    return await (await this.#parts.descriptions()).list(options);
  }

  /** The id and name of the plan that a key stands for. */
  async find(plan?: string): Promise<{ readonly id: string; readonly name: string }> {
    const { id, name } = await this.#find(plan);
    return { id, name };
  }

  /** The plan that landed last in a folder or in a resource around it, and was not undone. */
  async lastLandedIn(folder: string): Promise<LandedPlan> {
    const { lastLandedIn } = await import("./last-landing.ts");
    return await lastLandedIn(this.#parts.session.store, folder);
  }

  async show(plan?: string): Promise<PlanView> {
    return await this.#view(await this.#find(plan));
  }

  /**
   * The changes as unified text, one piece for each path, under the resource's name if there are several.
   * Bytes that are not UTF-8 are written as in byte-path.ts.
   */
  async *patch(...given: Parameters<PlanInspection["patch"]>): AsyncGenerator<string> {
    yield* (await this.#inspection()).patch(...given);
  }

  /**
   * Lands everything or nothing; with `only`, all of the chosen part or nothing, and the plan stays open with
   * the rest. With `update`, merges first. Fails only by `AtomicCommitError`, unless there is no such plan.
   */
  async apply(plan: string | undefined, options: InteractiveOptions = {}): Promise<ApplyResult> {
    const found = await this.#find(plan);
    if (options.update === true)
      await failingAsOne("commit", async () =>
        (await this.#parts.updates()).updateToApply(found.id, options),
      );
    const wanted = needsInspection(found, options, this.#parts.checks)
      ? await failingAsOne("commit", async () => (await this.#inspection()).commitOptions(found, options))
      : options;
    return { planId: found.id, ...(await this.#parts.commit.commitAll(found.id, wanted)) };
  }

  /**
   * Takes back the last landing of a plan that was not undone yet. An open plan with landed parts stays open.
   * Fails only by `AtomicCommitError`, unless there is no such plan.
   */
  async undo(plan: string | undefined, options: UndoOptions = {}): Promise<ApplyResult> {
    const found = await this.#find(plan);
    return { planId: found.id, ...(await this.#parts.commit.undo(found.id, options)) };
  }

  /** Throws the changes away, or some of them, and keeps the plan open. */
  async rollback(plan: string | undefined, options: RollbackOptions = {}): Promise<RollbackResult> {
    return await this.#makingRoom(plan, async (found) => {
      if (found.state !== "open") throw new PlanStateError(found, "open");
      if (options.only !== undefined || options.rejected === true) {
        const part = await (await this.#parts.partRollbacks()).rollback(found, options);
        return { ...(await this.#view(found)), part };
      }
      throwIfFailed(await this.#parts.session.sandboxes.rollbackAll(found));
      await this.#parts.session.history.note(found.id, "rolled back", {});
      return await this.#view(found);
    });
  }

  /** The resources that the plan changes in place: what it did to them stays in any case. */
  async inPlace(plan: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (const item of boundariesOf(await this.#find(plan))) {
      const { commit } = await this.#parts.session.sandboxes.capabilities(item);
      if (commit === "in-place") names.push(item.resource.name);
    }
    return names;
  }

  /** Throws the changes away and closes the plan. */
  async cancel(plan: string | undefined): Promise<PlanView> {
    return await this.#makingRoom(plan, async (found) => {
      const { plan: closed, remaining, warnings } = await this.#parts.closing.close(found);
      const told = {
        ...(remaining.length > 0 && { left: remaining }),
        ...(warnings.length > 0 && { warnings }),
      };
      return { ...(await this.#view(closed)), ...told };
    });
  }

  /** Claims a plan for an operation that makes room. */
  async #makingRoom<T>(plan: string | undefined, action: (found: PlanRecord) => Promise<T>): Promise<T> {
    const { stateDir, plans } = this.#parts.session;
    return await withReserve(stateDir, () => plans.claimed(plan, action));
  }

  async #find(plan: string | undefined): Promise<PlanRecord> {
    return await this.#parts.session.plans.find(plan);
  }

  async #view(plan: PlanRecord): Promise<PlanView> {
    return await (await this.#parts.descriptions()).of(plan);
  }
}

/** Whether an apply has to look at the changes before each strategy does. */
function needsInspection(plan: PlanRecord, options: InteractiveOptions, { configured }: PlanChecks): boolean {
  const { digest, approved, approvedPart, only, check = [], checks, editor } = options;
  return (
    digest !== undefined ||
    approved === true ||
    approvedPart === true ||
    only !== undefined ||
    editor !== undefined ||
    check.length > 0 ||
    (checks !== false && configured.length > 0) ||
    hasUnwritable(plan)
  );
}
