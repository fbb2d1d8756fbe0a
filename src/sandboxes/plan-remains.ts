import { isOver } from "../core/plan.ts";
import type { Store } from "../store/store.ts";
import type { PlanSecrets } from "./plan-secrets.ts";
import type { RestoredRemains } from "./restored-remains.ts";
import type { RunFolders } from "./run-folders.ts";

/**
 * What a plan has besides its sandboxes: the folder of its commands (run-folders.ts), its passwords (plan-secrets.ts) and what its undo remembers of
 * originals (restored-remains.ts). The folder goes when the plan is over, the passwords when no sandbox is left either, for removing one may take
 * them, and what is remembered with the last plan that needs it.
 */
export class PlanRemains {
  readonly #store: Store;
  readonly #folders: RunFolders;
  readonly #secrets: PlanSecrets;
  readonly #restored: RestoredRemains;

  constructor(store: Store, folders: RunFolders, secrets: PlanSecrets, restored: RestoredRemains) {
    this.#store = store;
    this.#folders = folders;
    this.#secrets = secrets;
    this.#restored = restored;
  }

  /** The plans of which something is left that `forget` removes. Costs nothing where there is nothing. */
  async forgettable(): Promise<readonly string[]> {
    const [run, secret] = [this.#folders.plans(), this.#secrets.plans()];
    if (run.length + secret.length === 0) return [];
    const open = new Set(await this.#store.openPlanIds());
    const found = new Set(run.filter((planId) => !open.has(planId)));
    for (const planId of secret) if (!open.has(planId) && (await this.#needsNoSecrets(planId))) found.add(planId);
    return [...found];
  }

  /** Removes what a plan no longer needs. The caller holds its claim: else a command might be about to use it, or to remove it too. */
  async forget(planId: string): Promise<void> {
    if (await this.#isOver(planId)) this.#folders.remove(planId);
    const plan = await this.#store.plan(planId);
    if (plan !== undefined && isOver(plan)) await this.#restored.forget(plan);
    if (await this.#needsNoSecrets(planId)) this.#secrets.forget(planId);
  }

  async #isOver(planId: string): Promise<boolean> {
    const plan = await this.#store.plan(planId);
    return plan === undefined || isOver(plan);
  }

  async #needsNoSecrets(planId: string): Promise<boolean> {
    if (!(await this.#isOver(planId))) return false;
    return (await this.#store.sandboxesOf(planId)).every(({ state }) => state === "CLEANED_UP");
  }
}
