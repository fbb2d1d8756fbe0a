import {
  DrydockError,
  SandboxConflictError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { boundariesOf, type PlanRecord, resourceById } from "../../core/plan.ts";
import type { SandboxRecord } from "../../core/sandbox.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { resourceOf } from "../../sandboxes/plan-sandboxes.ts";
import type { PlanCheckpoints } from "../checkpoints/plan-checkpoints.ts";
import type { ApplyOptions } from "../landing-views.ts";
import { assertWritable } from "../resources/restrictions.ts";
import type { SavedSteps } from "./saved-steps.ts";
import type { ResolveOptions, ResolveResult, UpdateResult } from "./update-views.ts";

/**
 * Brings into a plan what other writers changed in its originals meanwhile. The originals stay untouched.
 * saved-steps.ts has the order of writes.
 */
export class PlanUpdates {
  readonly #session: PlanSession;
  readonly #checkpoints: PlanCheckpoints;
  readonly #steps: SavedSteps;

  constructor(session: PlanSession, checkpoints: PlanCheckpoints, steps: SavedSteps) {
    this.#session = session;
    this.#checkpoints = checkpoints;
    this.#steps = steps;
  }

  /** Merges every path that the plan and other writers changed, as far as that is possible. */
  async update(plan: string | undefined): Promise<UpdateResult> {
    const { history } = this.#session;
    return await this.#session.plans.claimed(plan, async (found) => {
      const done = await this.#steps.saved(found, "plan update", async (updating) => {
        const result = await this.#mergeAll(updating);
        const [merged, marked] = [result.merged.length, result.marked.length];
        const entry = history.entry(found.id, "updated", { merged, marked });
        return { result, ...(merged + marked > 0 && { entry }) };
      });
      return { ...done.result, ...(done.checkpoint !== undefined && { checkpoint: done.checkpoint }) };
    });
  }

  /** Updates before an apply, which goes on only if everything could be merged. */
  async updateToApply(plan: string, { digest, approved, approvedPart, dryRun }: ApplyOptions): Promise<void> {
    if (dryRun === true)
      throw new UsageError("A dry run changes nothing, and an update changes the plan.", {
        hint: "Update first, and try the apply then.",
      });
    if (digest !== undefined || approved === true || approvedPart === true)
      throw new UsageError("An update changes what lands, so it can't be what was seen or approved before.", {
        hint: "Update first, look at the diff again, and land that.",
      });
    const { marked, unmerged } = await this.update(plan);
    const why = "both sides changed the same lines, which are marked in the sandbox now";
    const conflicts = [...marked.map((path) => ({ ...path, why })), ...unmerged];
    if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
  }

  /** Settles a path by the user's word. */
  async resolve(plan: string | undefined, { resource, path, how }: ResolveOptions): Promise<ResolveResult> {
    const { history } = this.#session;
    return await this.#session.plans.claimed(plan, async (found) => {
      assertWritable(found, resource);
      const { record, strategy, pathOf, pathFrom } = await this.#session.sandboxes.usable(
        found,
        resource,
        "look",
      );
      const { name } = resourceOf(found, resource).resource;
      const { result, checkpoint = "" } = await this.#steps.saved(found, "plan resolve", async () => ({
        result: await strategy.resolve(record.ref, pathOf(path), how, found.name),
        entry: history.entry(found.id, "resolved", { resource: name, path, how }),
      }));
      const beside = result.beside === undefined ? undefined : pathFrom(result.beside);
      return {
        ...{ planId: found.id, resource: name, path, how, checkpoint },
        ...(beside !== undefined && { beside }),
      };
    });
  }

  async #mergeAll(plan: PlanRecord): Promise<UpdateResult> {
    const result: {
      -readonly [key in keyof Omit<UpdateResult, "planId" | "checkpoint">]: UpdateResult[key][number][];
    } = { merged: [], marked: [], unmerged: [], unsupported: [] };
    for (const sandbox of await this.#checkpoints.sandboxesOf(plan)) {
      const resource = resourceById(plan, sandbox.ref.resourceId)?.name ?? sandbox.ref.resourceId;
      const report = await this.#merge(sandbox);
      if (report === undefined) {
        result.unsupported.push({ resource, strategy: sandbox.ref.strategyName });
        continue;
      }
      result.merged.push(...report.merged.map((path) => ({ resource, path })));
      result.marked.push(...report.marked.map((path) => ({ resource, path })));
      result.unmerged.push(...report.unmerged.map((conflict) => ({ resource, ...conflict })));
    }
    if (result.unsupported.length === boundariesOf(plan).length) throw noneMerges(result.unsupported);
    return { planId: plan.id, ...result };
  }

  async #merge({ ref }: SandboxRecord) {
    try {
      return await this.#session.sandboxes.strategy(ref.strategyName).update(ref);
    } catch (thrown) {
      if (thrown instanceof DrydockError && thrown.code === "NO_UPDATE") return undefined;
      throw thrown;
    }
  }
}

function noneMerges(all: UpdateResult["unsupported"]): UnsupportedError {
  const names = all.map(({ resource, strategy }) => `${resource} (${strategy})`).join(", ");
  return new UnsupportedError(`What others changed meanwhile can't be brought into ${names}.`, {
    hint: "Strategies of folders can do that, and SQLite databases. A git_worktree merges when it lands.",
    code: "NO_UPDATE",
  });
}
