import type { CheckpointRecord } from "../../core/checkpoint.ts";
import {
  DrydockError,
  SandboxConflictError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { boundariesOf, type PlanRecord, resourceById } from "../../core/plan.ts";
import type { SandboxRecord } from "../../core/sandbox.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { dropped } from "../../sandboxes/checkpoint-removal.ts";
import { resourceOf } from "../../sandboxes/plan-sandboxes.ts";
import type { StoreChange } from "../../store/store.ts";
import { type PlanCheckpoints, planMoved } from "../checkpoints/plan-checkpoints.ts";
import type { PlanRestores } from "../checkpoints/plan-restores.ts";
import type { ApplyOptions } from "../landing-views.ts";
import { assertWritable } from "../resources/restrictions.ts";
import type { ResolveOptions, ResolveResult, UpdateResult } from "./update-views.ts";

type HistoryChange = Extract<StoreChange, { readonly put: "history" }>;

/**
 * Brings into a plan what other writers changed in its originals meanwhile. The originals stay untouched.
 *
 * Order of writes:
 * 1. The present state is saved as a checkpoint that no list shows (`saving`).
 * 2. That checkpoint becomes `returning`, and the plan `updating`, durably: from here on recovery takes the
 *    update back.
 * 3. Each strategy merges its sandbox.
 * 4. One durable write opens the plan and makes the checkpoint an ordinary one, with which a user takes the
 *    update back; or drops it, if nothing was merged.
 *
 * If step 3 fails, every sandbox is brought back to the checkpoint, as after a failed restore
 * (plan-restores.ts).
 */
export class PlanUpdates {
  readonly #session: PlanSession;
  readonly #checkpoints: PlanCheckpoints;
  readonly #restores: PlanRestores;

  constructor(session: PlanSession, checkpoints: PlanCheckpoints, restores: PlanRestores) {
    this.#session = session;
    this.#checkpoints = checkpoints;
    this.#restores = restores;
  }

  /** Merges every path that the plan and other writers changed, as far as that is possible. */
  async update(plan: string | undefined): Promise<UpdateResult> {
    const { history } = this.#session;
    return await this.#session.plans.claimed(plan, async (found) => {
      const done = await this.#saved(found, "plan update", async (updating) => {
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
      const { result, checkpoint = "" } = await this.#saved(found, "plan resolve", async () => ({
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

  /** Does something to the sandboxes of a plan that a failure, a crash or the user can take back. */
  async #saved<T>(
    plan: PlanRecord,
    before: string,
    action: (updating: PlanRecord) => Promise<{ readonly result: T; readonly entry?: HistoryChange }>,
  ): Promise<{ readonly result: T; readonly checkpoint?: string }> {
    const { store, sandboxes, history } = this.#session;
    await this.#checkpoints.assertPossible(plan);
    const { record } = await this.#checkpoints.saveUnrecorded(plan, { before });
    const safety: CheckpointRecord = { ...record, state: "returning" };
    const updating: PlanRecord = { ...plan, state: "updating" };
    try {
      await store.write([{ put: "checkpoint", record: safety }, planMoved(plan, "updating")], "durable");
    } catch (thrown) {
      await this.#checkpoints.giveUp(record);
      throw thrown;
    }
    let done: Awaited<ReturnType<typeof action>>;
    try {
      done = await action(updating);
    } catch (thrown) {
      await this.#restores.goBack(updating, safety, thrown);
      throw thrown;
    }
    const { result, entry } = done;
    const kept: readonly StoreChange[] =
      entry === undefined
        ? dropped([safety])
        : [
            ...(await this.#checkpoints.recorded(plan, record)),
            history.entry(plan.id, "checkpoint", { checkpoint: record.id, before }),
            entry,
          ];
    await store.write([...kept, planMoved(updating, "open")], "durable");
    await sandboxes.checkpoints.drop(plan.id);
    return { result, ...(entry !== undefined && { checkpoint: record.id }) };
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
    hint: "Strategies of folders can do that. A git_worktree merges when it lands.",
    code: "NO_UPDATE",
  });
}
