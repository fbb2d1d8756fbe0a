import type { CleanupPolicy } from "../config/settings.ts";
import { messageOf } from "../core/errors.ts";
import { boundariesOf, movePlan, type PlanRecord } from "../core/plan.ts";
import { sandboxIdFor } from "../core/sandbox.ts";
import type { PlanRemains } from "../sandboxes/plan-remains.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import { throwIfFailed } from "../sandboxes/sweep-failure.ts";
import type { HistoryEntry, Store } from "../store/store.ts";

export interface PlanClosingParts {
  readonly store: Store;
  readonly sandboxes: PlanSandboxes;
  readonly remains: PlanRemains;
  readonly policy: CleanupPolicy;
  /** Whether passwords are kept for a plan. */
  readonly hasSecrets: (planId: string) => boolean;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
}

/** A sandbox of a cancelled plan that is still there. `cleanup scan` lists it, and `cleanup purge` removes it once its strategy is back. */
export type LeftSandbox = {
  readonly resource: string;
  /** Why it could not be removed. */
  readonly message: string;
  /** What is known to be there. */
  readonly places: readonly string[];
};

/** How a plan was closed. */
export interface ClosedPlan {
  readonly plan: PlanRecord;
  /** The resources whose sandboxes are removed. */
  readonly removed: readonly string[];
  /** Sandboxes that nobody here can remove. */
  readonly left: readonly LeftSandbox[];
  /** What else could not be removed; the next start tries again. */
  readonly warnings: readonly string[];
}

/**
 * Ends plans that are given up: by a cancel, because they could not be made, and by recovery, where a process died in doing so. In this order:
 *
 * 1. the plan is `closing`, durably: from here on the work is thrown away, and a crash only delays the rest;
 * 2. its sandboxes are removed, unless the policy keeps them;
 * 3. the plan is `cancelled`;
 * 4. what it had besides is removed.
 *
 * Callers hold the plan's claim.
 */
export class PlanClosing {
  readonly #parts: PlanClosingParts;

  constructor(parts: PlanClosingParts) {
    this.#parts = parts;
  }

  async close(plan: PlanRecord, details: HistoryEntry["details"] = {}): Promise<ClosedPlan> {
    const { store, sandboxes, history } = this.#parts;
    sandboxes.assertFree(plan);
    const closing: PlanRecord = plan.state === "closing" ? plan : { ...plan, state: movePlan(plan, "closing") };
    await store.write([{ put: "plan", record: closing }], "durable");
    const { removed, left, warnings } = (await this.#keepsSandboxes(plan))
      ? await this.#keepSandboxes(closing)
      : await this.#removeSandboxes(closing);
    const cancelled: PlanRecord = { ...closing, state: movePlan(closing, "cancelled") };
    const told = { ...details, ...(left.length > 0 && { left: [...left] }) };
    await store.write(
      [
        { put: "plan", record: cancelled },
        { put: "history", record: history(plan.id, "cancelled", told) },
      ],
      "ordered",
    );
    return { plan: cancelled, removed, left, warnings: [...warnings, ...(await this.#forgetRemains(plan.id))] };
  }

  /**
   * With `manual` they stay until they are purged. What was never whole goes in any case, and so does what holds something outside of our
   * folders, or needs a password to be removed.
   */
  async #keepsSandboxes(plan: PlanRecord): Promise<boolean> {
    const { policy, store, sandboxes, hasSecrets } = this.#parts;
    if (policy !== "manual" || plan.state === "creating" || hasSecrets(plan.id)) return false;
    for (const { resource } of boundariesOf(plan)) {
      const sandbox = await store.sandbox(sandboxIdFor(plan.id, resource.id));
      if (sandbox === undefined || sandbox.state === "PENDING") return false;
      if (await sandboxes.holdsTransaction(sandbox.ref)) return false;
    }
    return true;
  }

  async #keepSandboxes({ id }: PlanRecord): Promise<Omit<ClosedPlan, "plan">> {
    return { removed: [], left: [], warnings: await this.#parts.sandboxes.checkpoints.endAll(id) };
  }

  /** It need not wait for a strategy that is gone: what that has left is returned, and stays known to the cleanup. */
  async #removeSandboxes(plan: PlanRecord): Promise<Omit<ClosedPlan, "plan">> {
    const { store, sandboxes } = this.#parts;
    const { done, failed } = await sandboxes.cleanupAll(plan);
    throwIfFailed({ done, failed: failed.filter(({ outOfReach }) => outOfReach === undefined) });
    const intents = failed.length === 0 ? [] : await store.intents();
    const left = failed.map(({ resource, message, outOfReach }) => ({
      resource,
      message,
      places: intents.filter(({ sandboxId }) => sandboxId === outOfReach?.sandboxId).map(({ location }) => location),
    }));
    return { removed: done, left, warnings: [] };
  }

  async #forgetRemains(planId: string): Promise<readonly string[]> {
    try {
      await this.#parts.remains.forget(planId);
      return [];
    } catch (thrown) {
      return [`what its commands left could not be removed: ${messageOf(thrown)}`];
    }
  }
}
