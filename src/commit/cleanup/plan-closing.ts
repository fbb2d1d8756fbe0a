import { boundariesOf, movePlan, type PlanRecord } from "../../core/plan.ts";
import { sandboxIdFor } from "../../core/sandbox.ts";
import { changesOriginals, landingsAmong, reversibleIn } from "../../core/transaction.ts";
import type { EventDetails } from "../../core/values/plan-events.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { throwIfFailed } from "../../sandboxes/sweep-report.ts";
import { type ClosingPlan, keepsCancelled } from "./cleanup-policy.ts";

/**
 * A sandbox of a cancelled plan that still exists. `cleanup scan` lists it, and `cleanup purge` removes it
 * once its strategy is back.
 */
export type RemainingSandbox = {
  readonly resource: string;
  /** Why it could not be removed. */
  readonly message: string;
  /** Its known places. */
  readonly places: readonly string[];
};

/** The result of closing a plan. */
export interface ClosedPlan {
  readonly plan: PlanRecord;
  /** The resources whose sandboxes are removed. */
  readonly removed: readonly string[];
  /** Sandboxes that can't be removed here, because their strategy is gone. */
  readonly remaining: readonly RemainingSandbox[];
  /** Other failures to remove something; the next start tries again. */
  readonly warnings: readonly string[];
}

/**
 * Closes plans that are given up: by a cancel, because they could not be made, or by recovery after the
 * process of either died. In this order:
 *
 * 1. the plan is `closing`, durably: from here on the work is thrown away, and a crash only delays the rest;
 * 2. its sandboxes are removed, unless the policy keeps them;
 * 3. the plan is `cancelled`, or `applied` if parts of it have landed, which can be undone as before;
 * 4. everything else of it is removed that no undo needs.
 *
 * Callers hold the plan's claim.
 */
export class PlanClosing {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  async close(plan: PlanRecord, details: Pick<EventDetails["cancelled"], "by"> = {}): Promise<ClosedPlan> {
    const { store, history, sandboxes, remains } = this.#session;
    sandboxes.assertFree(plan);
    const closing: PlanRecord =
      plan.state === "closing" ? plan : { ...plan, state: movePlan(plan, "closing") };
    await store.write([{ put: "plan", record: closing }], "durable");
    const landings = landingsAmong(await store.transactionsOf(plan.id)).filter(changesOriginals);
    const undoable = new Set(landings.flatMap(reversibleIn).map(({ ref }) => ref.sandboxId));
    const { removed, remaining, warnings } = (await this.#keepsSandboxes(plan))
      ? await this.#keepSandboxes(closing)
      : await this.#removeSandboxes(closing, undoable);
    const end = landings.length > 0 ? "applied" : "cancelled";
    const closed: PlanRecord = { ...closing, state: movePlan(closing, end) };
    const told = { ...details, ...(remaining.length > 0 && { left: [...remaining] }) };
    await store.write(
      [{ put: "plan", record: closed }, history.entry(plan.id, "cancelled", told)],
      "ordered",
    );
    return {
      plan: closed,
      removed,
      remaining,
      warnings: [...warnings, ...(await remains.tryToForget(plan.id))],
    };
  }

  /** Asks strategies only where the policy depends on their answer. */
  async #keepsSandboxes(plan: PlanRecord): Promise<boolean> {
    const { cleanup } = this.#session.settings;
    return cleanup === "manual" && keepsCancelled(cleanup, await this.#factsOf(plan));
  }

  async #factsOf(plan: PlanRecord): Promise<ClosingPlan> {
    const { store, sandboxes, remains } = this.#session;
    let [isWhole, holdsTransaction] = [plan.state !== "creating", false];
    for (const { resource } of boundariesOf(plan)) {
      const sandbox = await store.sandbox(sandboxIdFor(plan.id, resource.id));
      if (sandbox === undefined || sandbox.state === "PENDING") isWhole = false;
      else holdsTransaction ||= await sandboxes.holdsTransaction(sandbox.ref);
    }
    return { isWhole, holdsTransaction, hasSecrets: remains.hasSecrets(plan.id) };
  }

  async #keepSandboxes({ id }: PlanRecord): Promise<Omit<ClosedPlan, "plan">> {
    return { removed: [], remaining: [], warnings: await this.#session.sandboxes.checkpoints.endAll(id) };
  }

  /** A missing strategy does not stop the others: its sandboxes are returned, and cleanup knows them. */
  async #removeSandboxes(plan: PlanRecord, undoable: ReadonlySet<string>): Promise<Omit<ClosedPlan, "plan">> {
    const { store, sandboxes } = this.#session;
    const { done, failed } = await sandboxes.cleanupAll(plan, undoable);
    throwIfFailed({ done, failed: failed.filter(({ outOfReach }) => outOfReach === undefined) });
    const intents = failed.length === 0 ? [] : await store.intents();
    const remaining = failed.map(({ resource, message, outOfReach }) => ({
      resource,
      message,
      places: intents
        .filter(({ sandboxId }) => sandboxId === outOfReach?.sandboxId)
        .map(({ location }) => location),
    }));
    return { removed: done, remaining, warnings: [] };
  }
}
