import { UsageError } from "../../core/errors/errors.ts";
import { PathPatterns } from "../../core/paths/path-patterns.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { NO_WORDS } from "../../core/self-running/protected-paths.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { eachChange } from "../plan-changes.ts";
import type { PlanChange } from "../plan-views.ts";
import { choosePaths } from "../resources/chosen-paths.ts";
import { assertWritable } from "../resources/restrictions.ts";
import { exactPart, type VotedChange, votedChanges } from "../review/approved-part.ts";
import type { SavedSteps } from "./saved-steps.ts";
import type { RollbackOptions, RolledBackPart } from "./update-views.ts";

/** How many paths the history names. */
const MOST_NAMED = 1000;

/** Takes some of the changes out of a plan: at their paths, its sandboxes show the originals again. */
export class PartRollbacks {
  readonly #session: PlanSession;
  readonly #steps: SavedSteps;

  constructor(session: PlanSession, steps: SavedSteps) {
    this.#session = session;
    this.#steps = steps;
  }

  /** Takes out what the paths choose, or what votes reject. The caller has claimed the plan. */
  async rollback(plan: PlanRecord, options: RollbackOptions): Promise<RolledBackPart> {
    const { sandboxes, history } = this.#session;
    const changes: PlanChange[] = [];
    await eachChange(plan, sandboxes, NO_WORDS, (change) => void changes.push(change));
    const chosen = await this.#chosen(plan, changes, options);
    const parts = [...Map.groupBy(chosen, ({ change }) => change.resource)];
    for (const [resource] of parts) assertWritable(plan, resource);
    const { checkpoint = "" } = await this.#steps.saved(plan, "plan rollback", async () => {
      for (const [resource, some] of parts) {
        const { record, strategy, pathOf } = await sandboxes.usable(plan, resource, "look");
        const { paths, hunks = {} } = exactPart(some);
        const inside = Object.entries(hunks).map(([path, ids]) => [pathOf(path), ids] as const);
        await strategy.takeOut(record.ref, {
          paths: paths.map(pathOf),
          hunks: Object.fromEntries(inside),
        });
      }
      const only = chosen.slice(0, MOST_NAMED).map(({ change: { resource, path } }) => `${resource}:${path}`);
      const details = { only, changes: chosen.length };
      return { result: undefined, entry: history.entry(plan.id, "part rolled back", details) };
    });
    return { changes: chosen.length, checkpoint };
  }

  async #chosen(
    plan: PlanRecord,
    changes: readonly PlanChange[],
    { only = [], rejected = false }: RollbackOptions,
  ): Promise<readonly VotedChange[]> {
    if (rejected === only.length > 0)
      throw new UsageError("Either paths choose the part, or votes do.", {
        hint: "Give the paths, or say that it is what was rejected.",
      });
    if (!rejected) {
      const choices = choosePaths(plan, changes, only).map(({ resource, only: patterns }) => ({
        ...{ resource, patterns: new PathPatterns(patterns) },
      }));
      const isMeant = ({ resource, path }: PlanChange) =>
        choices.some((choice) => choice.resource === resource && choice.patterns.has(path));
      return changes.filter(isMeant).map((change) => ({ change }));
    }
    const found = await votedChanges(this.#session, plan, changes, "rejected");
    if (found.length > 0) return found;
    throw new UsageError(`No change of the plan ${plan.name} is rejected as it is now.`, {
      hint: "A person looks at its changes and rejects those that may not land.",
      code: "NO_MATCH",
    });
  }
}
