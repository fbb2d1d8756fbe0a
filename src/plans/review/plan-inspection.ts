import type { CommitAllOptions } from "../../commit/commit-all.ts";
import { PlanStateError } from "../../core/errors/errors.ts";
import { movePlan, type PlanRecord } from "../../core/plan.ts";
import { type LandingWords, NO_WORDS } from "../../core/self-running/protected-paths.ts";
import { type Check, DEFAULT_CHECK_MS } from "../../core/values/checks.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { lastApproval, movedOn, notApproved, noteReviewAsked, recordApproval } from "../approvals.ts";
import type { EditedPart } from "../edit/edited-part.ts";
import { noteSealed } from "../history/plan-log.ts";
import type { ApplyOptions, DiffEditor, InteractiveOptions } from "../landing-views.ts";
import {
  ChangesDigest,
  digestOf,
  eachChange,
  type PlanChanges,
  planChanges,
  presentChanges,
} from "../plan-changes.ts";
import { diffOf } from "../plan-diff.ts";
import type { SidesOf } from "../plan-patch.ts";
import type { DiffOptions, PatchOptions, PlanChange, PlanDiff } from "../plan-views.ts";
import { choosePaths, chosenChanges } from "../resources/chosen-paths.ts";
import { assertHasWord, assertMayLand, hasUnwritable } from "../resources/restrictions.ts";
import type { Approval, ApproveOptions, ReviewRequest, ReviewRequestOptions } from "./approval-views.ts";
import type { ApprovedPart } from "./approved-part.ts";

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

/** What is known of an apply before it is reviewed. */
interface Known {
  readonly approval?: Approval;
  readonly edited?: EditedPart;
}

/** What a plan would land: shows it, records approvals of it, and looks at it before an apply. */
export class PlanInspection {
  readonly #session: PlanSession;
  readonly #checks: PlanChecks;

  constructor(session: PlanSession, checks: PlanChecks) {
    this.#session = session;
    this.#checks = checks;
  }

  /**
   * The changes that would land; of an applied plan, those that have; with `checkpoint`, those that it holds.
   * The digest covers all of them, even where `paths` narrows the list. `allow` has the meaning that it has
   * for an apply.
   */
  async diff(plan: string | undefined, options: DiffOptions = {}): Promise<PlanDiff> {
    const found = await this.#session.plans.find(plan);
    if (options.checkpoint !== undefined) {
      const { CheckpointDiff } = await import("../checkpoints/checkpoint-diff.ts");
      const saved = await CheckpointDiff.of(this.#session, found, options.checkpoint);
      return await saved.diff(await this.#words(options.allow), options);
    }
    if (found.state === "applied") {
      const { landedDiff } = await import("../landed-diff.ts");
      return await landedDiff(this.#session, found, options);
    }
    const session = this.#session;
    const changesOf = presentChanges(found, session.sandboxes);
    const diff = await diffOf(found, await this.#words(options.allow), options, changesOf);
    await noteSealed(session, found.id, diff.digest);
    return diff;
  }

  /**
   * The changes as unified text, one piece for each path, under the resource's name if there are several.
   * Bytes that are not UTF-8 are written as in byte-path.ts.
   */
  async *patch(plan: string | undefined, options: PatchOptions = {}): AsyncGenerator<string> {
    const found = await this.#session.plans.find(plan);
    const { checkpoint } = options;
    if (found.state === "applied" && checkpoint === undefined) {
      const { landedPatch } = await import("../landed-diff.ts");
      return yield* landedPatch(this.#session, found, options);
    }
    const diff = await this.diff(found.id, options);
    options.onDiff?.(diff);
    const { patchOf } = await import("../plan-patch.ts");
    yield* patchOf(found, await this.#sidesOf(found, checkpoint), diff, options);
  }

  /**
   * Records a person's approval of exactly what would land now, if that still has the digest that the person
   * saw. An apply with `approved` then lands that and nothing else.
   */
  async approve(plan: string | undefined, options: ApproveOptions): Promise<Approval> {
    return await this.#session.plans.claimed(plan, async (found) => {
      if (found.state !== "open") throw new PlanStateError(found, "applying");
      await this.#review(found, options);
      return await recordApproval(this.#session, found.id, options);
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
    await noteReviewAsked(this.#session, planId, { digest, ...(message !== undefined && { message }) });
    const approval = await this.approval(planId);
    return { planId, digest, stats, ...(approval !== undefined && { approval }) };
  }

  /** The last approval of the plan. It is void once a diff gives another digest. */
  async approval(plan: string | undefined): Promise<Approval | undefined> {
    return await lastApproval(this.#session, (await this.#session.plans.find(plan)).id);
  }

  /** What the commit of an apply needs. Runs the checks of the apply first. */
  async commitOptions(
    plan: PlanRecord,
    { editor, ...options }: InteractiveOptions,
  ): Promise<CommitAllOptions> {
    if (editor !== undefined) return await this.#commitEdited(plan, options, editor);
    const { approvedPart: isPart, update: _, ...others } = options;
    const part = isPart === true ? await this.#approved(plan) : undefined;
    if (part?.whole !== undefined) return await this.commitOptions(plan, { ...others, digest: part.whole });
    const approval = options.approved === true ? await this.approval(plan.id) : undefined;
    const known = approval === undefined ? {} : { approval };
    const { digest: given, approved, only, check: __, checks: ___, ...rest } = others;
    const allow = [...(options.allow ?? []), ...(approval?.allow ?? [])];
    const passed = await this.#check(plan, { ...options, allow }, known);
    const digest = given ?? passed;
    const isReviewed = digest !== undefined || approved === true || part !== undefined || hasUnwritable(plan);
    const wanted = { ...options, allow, ...(digest !== undefined && { digest }) };
    const review = isReviewed && { review: () => this.#review(plan, wanted, known) };
    const chosen = only && (async () => choosePaths(plan, (await this.#changes(plan)).changes, only));
    const choose = part === undefined ? chosen : async () => (await this.#approved(plan)).chosen;
    return { ...rest, allow, ...review, ...(choose !== undefined && { choose }) };
  }

  /** What lands is what comes back from the editor, if the plan is then still what the editor was given. */
  async #commitEdited(
    plan: PlanRecord,
    options: ApplyOptions,
    editor: DiffEditor,
  ): Promise<CommitAllOptions> {
    // What would be refused in any case is refused before the person works on it.
    movePlan(plan, "applying");
    this.#session.sandboxes.assertUnused(plan);
    const { editedPart } = await import("../edit/edited-part.ts");
    const { changes: all } = await this.#changes(plan);
    const digest = digestOf(all);
    if (options.digest !== undefined && options.digest !== digest) throw movedOn(undefined);
    const handed = options.only === undefined ? all : chosenChanges(plan, all, options.only);
    const edited = await editedPart(this.#session, plan, { all, handed }, editor);
    const { only: _, ...wanted } = { ...options, digest };
    if (edited.isWhole) return await this.commitOptions(plan, wanted);
    const { approved: __, update: ___, check: ____, checks: _____, ...rest } = wanted;
    await this.#check(plan, wanted, { edited });
    return {
      ...rest,
      review: () => this.#review(plan, wanted, { edited }),
      choose: async () => edited.chosen,
    };
  }

  /** Runs the checks, if there are any. Returns the digest of what passed: nothing else may land. */
  async #check(plan: PlanRecord, options: ApplyOptions, known: Known = {}): Promise<string | undefined> {
    const session = this.#session;
    const given = (options.check ?? []).map((run) => ({ run, time: DEFAULT_CHECK_MS }));
    const all = [...(options.checks === false ? [] : this.#checks.configured), ...given];
    if (all.length === 0) return undefined;
    // What would be refused in any case is refused before the checks take their time.
    movePlan(plan, "applying");
    session.sandboxes.assertUnused(plan);
    await this.#review(plan, options, known);
    return await this.#checks.run(plan, all, async () => await this.#digest(plan));
  }

  async #approved(plan: PlanRecord, changes?: readonly PlanChange[]): Promise<ApprovedPart> {
    const { approvedPart } = await import("./approved-part.ts");
    return await approvedPart(this.#session, plan, changes ?? (await this.#changes(plan)).changes);
  }

  async #digest(plan: PlanRecord): Promise<string> {
    const digest = new ChangesDigest();
    await eachChange(plan, this.#session.sandboxes, NO_WORDS, (change) => digest.add(change));
    return digest.end();
  }

  /**
   * Reviews the changes where something depends on them, and names everything that must not land. Each
   * strategy checks again in its prepare, when its sandbox can't change any more.
   */
  async #review(
    plan: PlanRecord,
    { digest, only, allow, approved, approvedPart: isPart }: ApplyOptions,
    { approval, edited }: Known = {},
  ): Promise<void> {
    if (approved === true && approval === undefined) throw notApproved(plan);
    const { changes, selfRunning } = await this.#changes(plan, allow);
    const chosen = only === undefined ? changes : chosenChanges(plan, changes, only);
    const part = edited ?? (isPart === true ? await this.#approved(plan, changes) : undefined);
    const landing = part?.landing ?? chosen;
    assertMayLand(plan, landing);
    const now = digestOf(changes);
    if (approval !== undefined && approval.digest !== now) throw movedOn(approval);
    if (digest !== undefined && digest !== now) throw movedOn(undefined);
    assertHasWord(landing, selfRunning);
  }

  async #changes(plan: PlanRecord, allow?: readonly string[]): Promise<PlanChanges> {
    return await planChanges(plan, this.#session.sandboxes, await this.#words(allow));
  }

  async #sidesOf(plan: PlanRecord, checkpoint: string | undefined): Promise<SidesOf> {
    if (checkpoint === undefined) {
      const { presentSides } = await import("../plan-patch.ts");
      return presentSides(plan, this.#session.sandboxes);
    }
    const { CheckpointDiff } = await import("../checkpoints/checkpoint-diff.ts");
    const saved = await CheckpointDiff.of(this.#session, plan, checkpoint);
    return async (resource) => await saved.sidesOf(resource);
  }

  async #words(allow: readonly string[] = []): Promise<LandingWords> {
    const { settings, protects } = this.#session;
    return { configured: settings.allowSelfRunning, allow, protect: await protects() };
  }
}
