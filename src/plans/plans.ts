import type { AtomicCommit } from "../commit/atomic-commit.ts";
import type { PlanClosing } from "../commit/cleanup/plan-closing.ts";
import { failingAsOne } from "../commit/failure.ts";
import type { Change } from "../core/change.ts";
import { PlanStateError, UsageError } from "../core/errors/errors.ts";
import { joinPath, ROOT_PATH } from "../core/paths/byte-path.ts";
import { boundariesOf, movePlan, type PlanRecord } from "../core/plan.ts";
import { type Check, DEFAULT_CHECK_MS } from "../core/values/checks.ts";
import { onlyReads, type StatementResult } from "../core/values/query.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import { resourceOf } from "../sandboxes/plan-sandboxes.ts";
import { throwIfFailed } from "../sandboxes/sweep-report.ts";
import { freeReserve } from "../system/state/reserve.ts";
import { lastApproval, movedOn, notApproved, noteReviewAsked, recordApproval } from "./approvals.ts";
import type { PlanDescriptions } from "./describe-plan.ts";
import { readInside } from "./entries/inner-links.ts";
import { noteChange } from "./entries/plan-entries.ts";
import { noteSealed } from "./history/plan-log.ts";
import type { ApplyOptions, ApplyResult, LandedPlan } from "./landing-views.ts";
import { lastLandedIn } from "./last-landing.ts";
import type { PlanJoining } from "./making/plan-joining.ts";
import { ChangesDigest, digestOf, eachChange, type PlanChanges, planChanges } from "./plan-changes.ts";
import type { PlanCreation } from "./plan-creation.ts";
import { planDiff } from "./plan-diff.ts";
import { hasLabels } from "./plan-labels.ts";
import type {
  AddOptions,
  CreatePlanOptions,
  DiffOptions,
  ListPlansOptions,
  PatchOptions,
  PlanChange,
  PlanDiff,
  PlanView,
} from "./plan-views.ts";
import { choosePaths, chosenChanges } from "./resources/chosen-paths.ts";
import {
  assertHasWord,
  assertMay,
  assertMayLand,
  assertWritable,
  hasUnwritable,
} from "./resources/restrictions.ts";
import type {
  Approval,
  ApproveOptions,
  ReviewRequest,
  ReviewRequestOptions,
} from "./review/approval-views.ts";
import type { ApprovedPart } from "./review/approved-part.ts";
import type { PlanUpdates } from "./updates/plan-updates.ts";

export interface PlansParts {
  readonly session: PlanSession;
  /** Loaded when a plan is made. */
  readonly creation: () => Promise<PlanCreation>;
  /** Loaded when a resource joins a plan. */
  readonly joining: () => Promise<PlanJoining>;
  /** Loaded when an apply has to merge first. */
  readonly updates: () => Promise<PlanUpdates>;
  readonly commit: AtomicCommit;
  readonly closing: PlanClosing;
  readonly descriptions: PlanDescriptions;
  readonly checks: PlanChecks;
}

/** The checks before a landing. */
export interface PlanChecks {
  /** Those of the config. */
  readonly configured: readonly Check[];
  /**
   * Runs checks inside the sandboxes of a plan and takes back what they write there. Returns the digest of
   * what passed. `digest` gives that of what would land now.
   */
  run(plan: PlanRecord, checks: readonly Check[], digest: () => Promise<string>): Promise<string>;
}

/**
 * What users do with plans, in their words. A plan is named by its id, a unique prefix of it, or its name;
 * without one, the only open plan is meant. A resource is named by its name; without one, the only resource
 * is meant.
 */
export class Plans {
  readonly #parts: PlansParts;

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
    const { session, descriptions } = this.#parts;
    const { all = false, labels = {} } = options;
    const plans = await session.store.listPlans(all ? "all" : "open");
    const wanted = plans.filter((plan) => hasLabels(plan, labels));
    return await Promise.all(wanted.map((plan) => descriptions.of(plan, { load: false })));
  }

  /** The id and name of the plan that a key stands for. */
  async find(plan?: string): Promise<{ readonly id: string; readonly name: string }> {
    const { id, name } = await this.#find(plan);
    return { id, name };
  }

  /** The plan that landed last in a folder or in a resource around it, and was not undone. */
  async lastLandedIn(folder: string): Promise<LandedPlan> {
    return await lastLandedIn(this.#parts.session.store, folder);
  }

  async show(plan?: string): Promise<PlanView> {
    return await this.#view(await this.#find(plan));
  }

  /** Where the sandbox of a resource is. */
  async path(plan: string | undefined, resource?: string): Promise<string> {
    const path = await this.#parts.session.plans.claimed(plan, async (found) => {
      const { record, strategy, pathOf } = await this.#parts.session.sandboxes.usable(
        found,
        resource,
        "change",
      );
      const path = await strategy.path(record.ref);
      const inside = pathOf(ROOT_PATH);
      return path === undefined || inside === ROOT_PATH ? path : joinPath(path, inside);
    });
    if (path === undefined) throw new UsageError("This sandbox has no path.", { code: "NO_PATH" });
    return path;
  }

  /** The content of a file. A link on the way is followed where it leads to a path inside the resource. */
  async read(plan: string | undefined, resource: string | undefined, path: string): Promise<Uint8Array> {
    const found = await this.#find(plan);
    const { record, strategy, pathOf } = await this.#parts.session.sandboxes.usable(found, resource, "look");
    assertMay(resourceOf(found, resource), "read");
    return await readInside(path, {
      read: (at) => strategy.read(record.ref, pathOf(at)),
      stat: (at) => strategy.stat(record.ref, pathOf(at)),
    });
  }

  async write(
    plan: string | undefined,
    resource: string | undefined,
    path: string,
    bytes: Uint8Array,
  ): Promise<Change> {
    return await this.#parts.session.plans.claimed(plan, async (found) => {
      assertWritable(found, resource);
      const { record, strategy, pathOf, pathFrom } = await this.#parts.session.sandboxes.usable(
        found,
        resource,
        "change",
      );
      const change = await strategy.write(record.ref, pathOf(path), bytes);
      await noteChange(this.#parts.session, found, { operation: "write", resource, path });
      return { ...change, path: pathFrom(change.path) };
    });
  }

  /**
   * Runs statements in the sandbox of a database and returns their results; in a read-only plan only queries.
   */
  async sql(
    plan: string | undefined,
    resource: string | undefined,
    script: string,
  ): Promise<readonly StatementResult[]> {
    return await this.#parts.session.plans.claimed(plan, async (found) => {
      const { readOnly } = found;
      const { sandboxes } = this.#parts.session;
      const { record, strategy } = await sandboxes.usable(found, resource, readOnly ? "look" : "change");
      const results = await strategy.query(record.ref, script, { readOnly });
      if (!readOnly && !results.every(onlyReads))
        await noteChange(this.#parts.session, found, { operation: "sql", resource });
      return results;
    });
  }

  /**
   * The changes that would land; of an applied plan, those that have. The digest covers all of them, even
   * where `paths` narrows the list. `allow` has the meaning that it has for an apply.
   */
  async diff(plan: string | undefined, options: DiffOptions = {}): Promise<PlanDiff> {
    const found = await this.#find(plan);
    if (found.state === "applied") {
      const { landedDiff } = await import("./landed-diff.ts");
      return await landedDiff(this.#parts.session, found, options);
    }
    const { session } = this.#parts;
    const diff = await planDiff(found, session.sandboxes, this.#allowed(options.allow), options);
    await noteSealed(session, found.id, diff.digest);
    return diff;
  }

  /**
   * The changes as unified text, one piece for each path, under the resource's name if there are several.
   * Bytes that are not UTF-8 are written as in byte-path.ts.
   */
  async *patch(plan: string | undefined, options: PatchOptions = {}): AsyncGenerator<string> {
    const found = await this.#find(plan);
    if (found.state === "applied") {
      const { landedPatch } = await import("./landed-diff.ts");
      return yield* landedPatch(this.#parts.session, found, options);
    }
    const diff = await this.diff(found.id, options);
    options.onDiff?.(diff);
    const { patchOf } = await import("./plan-patch.ts");
    yield* patchOf(found, this.#parts.session.sandboxes, diff, options);
  }

  /**
   * Lands everything or nothing; with `only`, all of the chosen part or nothing, and the plan stays open with
   * the rest. With `update`, merges first. Fails only by `AtomicCommitError`, unless there is no such plan.
   */
  async apply(plan: string | undefined, options: ApplyOptions = {}): Promise<ApplyResult> {
    const found = await this.#find(plan);
    const { approvedPart: isPart, update, ...others } = options;
    if (update === true)
      await failingAsOne("commit", async () =>
        (await this.#parts.updates()).updateToApply(found.id, options),
      );
    const part = isPart === true ? await failingAsOne("commit", () => this.#approved(found)) : undefined;
    if (part?.whole !== undefined) return await this.apply(found.id, { ...others, digest: part.whole });
    const approval = options.approved === true ? await this.approval(found.id) : undefined;
    const { digest: given, approved, only, check: _, checks: __, ...rest } = others;
    const allow = [...(options.allow ?? []), ...(approval?.allow ?? [])];
    const passed = await failingAsOne("commit", () => this.#check(found, { ...options, allow }, approval));
    const digest = given ?? passed;
    const isReviewed =
      digest !== undefined || approved === true || part !== undefined || hasUnwritable(found);
    const wanted = { ...options, allow, ...(digest !== undefined && { digest }) };
    const review = isReviewed && { review: () => this.#review(found, wanted, approval) };
    const chosen = only && (async () => choosePaths(found, (await this.#changes(found)).changes, only));
    const choose = part === undefined ? chosen : async () => (await this.#approved(found)).chosen;
    const result = await this.#parts.commit.commitAll(found.id, {
      ...{ ...rest, allow, ...review },
      ...(choose !== undefined && { choose }),
    });
    return { planId: found.id, ...result };
  }

  /**
   * Records a person's approval of exactly what would land now, if that still has the digest that the person
   * saw. An apply with `approved` then lands that and nothing else.
   */
  async approve(plan: string | undefined, options: ApproveOptions): Promise<Approval> {
    return await this.#parts.session.plans.claimed(plan, async (found) => {
      if (found.state !== "open") throw new PlanStateError(found, "applying");
      await this.#review(found, options);
      return await recordApproval(this.#parts.session, found.id, options);
    });
  }

  /**
   * Asks a person to review exactly what would land now. The history tells it to that person; the result says
   * whether there is an approval already, and of which digest.
   */
  async requestReview(
    plan: string | undefined,
    { message }: ReviewRequestOptions = {},
  ): Promise<ReviewRequest> {
    const { planId, digest, stats } = await this.diff(plan, { onChange: () => undefined });
    await noteReviewAsked(this.#parts.session, planId, { digest, ...(message !== undefined && { message }) });
    const approval = await this.approval(planId);
    return { planId, digest, stats, ...(approval !== undefined && { approval }) };
  }

  /** The last approval of the plan. It is void once a diff gives another digest. */
  async approval(plan: string | undefined): Promise<Approval | undefined> {
    return await lastApproval(this.#parts.session, (await this.#find(plan)).id);
  }

  /** Runs the checks, if there are any. Returns the digest of what passed: nothing else may land. */
  async #check(plan: PlanRecord, options: ApplyOptions, approval?: Approval): Promise<string | undefined> {
    const { checks, session } = this.#parts;
    const given = (options.check ?? []).map((run) => ({ run, time: DEFAULT_CHECK_MS }));
    const all = [...(options.checks === false ? [] : checks.configured), ...given];
    if (all.length === 0) return undefined;
    // What would be refused in any case is refused before the checks take their time.
    movePlan(plan, "applying");
    session.sandboxes.assertUnused(plan);
    await this.#review(plan, options, approval);
    return await checks.run(plan, all, async () => await this.#digest(plan));
  }

  async #approved(plan: PlanRecord, changes?: readonly PlanChange[]): Promise<ApprovedPart> {
    const { approvedPart } = await import("./review/approved-part.ts");
    return await approvedPart(this.#parts.session, plan, changes ?? (await this.#changes(plan)).changes);
  }

  async #digest(plan: PlanRecord): Promise<string> {
    const digest = new ChangesDigest();
    await eachChange(plan, this.#parts.session.sandboxes, [], (change) => digest.add(change));
    return digest.end();
  }

  /**
   * Reviews the changes where something depends on them, and names everything that must not land. Each
   * strategy checks again in its prepare, when its sandbox can't change any more.
   */
  async #review(
    plan: PlanRecord,
    { digest, only, allow, approved, approvedPart: isPart }: ApplyOptions,
    approval?: Approval,
  ): Promise<void> {
    if (approved === true && approval === undefined) throw notApproved(plan);
    const { changes, selfRunning } = await this.#changes(plan, allow);
    const chosen = only === undefined ? changes : chosenChanges(plan, changes, only);
    const landing = isPart === true ? (await this.#approved(plan, changes)).landing : chosen;
    assertMayLand(plan, landing);
    const now = digestOf(changes);
    if (approval !== undefined && approval.digest !== now) throw movedOn(approval);
    if (digest !== undefined && digest !== now) throw movedOn(undefined);
    assertHasWord(landing, selfRunning);
  }

  /**
   * Takes back the last landing of a plan that was not undone yet. An open plan with landed parts stays open.
   * Fails only by `AtomicCommitError`, unless there is no such plan.
   */
  async undo(plan: string | undefined): Promise<ApplyResult> {
    const found = await this.#find(plan);
    return { planId: found.id, ...(await this.#parts.commit.undo(found.id)) };
  }

  /** Throws the changes away and keeps the plan open. */
  async rollback(plan: string | undefined): Promise<PlanView> {
    freeReserve(this.#parts.session.stateDir);
    return await this.#parts.session.plans.claimed(plan, async (found) => {
      if (found.state !== "open") throw new PlanStateError(found, "open");
      throwIfFailed(await this.#parts.session.sandboxes.rollbackAll(found));
      await this.#parts.session.history.note(found.id, "rolled back", {});
      return await this.#view(found);
    });
  }

  /** The resources that the plan changes in place: what it did to them stays in any case. */
  async inPlace(plan: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (const { strategy, resource } of boundariesOf(await this.#find(plan))) {
      const { commit } = await this.#parts.session.sandboxes.capabilities(strategy);
      if (commit === "in-place") names.push(resource.name);
    }
    return names;
  }

  /** Throws the changes away and closes the plan. */
  async cancel(plan: string | undefined): Promise<PlanView> {
    freeReserve(this.#parts.session.stateDir);
    return await this.#parts.session.plans.claimed(plan, async (found) => {
      const { plan: closed, remaining, warnings } = await this.#parts.closing.close(found);
      const told = {
        ...(remaining.length > 0 && { left: remaining }),
        ...(warnings.length > 0 && { warnings }),
      };
      return { ...(await this.#view(closed)), ...told };
    });
  }

  async #find(plan: string | undefined): Promise<PlanRecord> {
    return await this.#parts.session.plans.find(plan);
  }

  async #changes(plan: PlanRecord, allow?: readonly string[]): Promise<PlanChanges> {
    return await planChanges(plan, this.#parts.session.sandboxes, this.#allowed(allow));
  }

  #allowed(allow: readonly string[] = []): readonly string[] {
    return [...this.#parts.session.settings.allowSelfRunning, ...allow];
  }

  async #view(plan: PlanRecord): Promise<PlanView> {
    return await this.#parts.descriptions.of(plan);
  }
}
