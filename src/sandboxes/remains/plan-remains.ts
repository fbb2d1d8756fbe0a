import { messageOf } from "../../core/errors/errors.ts";
import { isOver } from "../../core/plan.ts";
import type { Store } from "../../store/store.ts";
import type { KnownPlace } from "./known-places.ts";
import type { PlanSecrets } from "./plan-secrets.ts";
import type { RestoredRemains } from "./restored-remains.ts";
import type { RunFolders } from "./run-folders.ts";

/**
 * What a plan has besides its sandboxes:
 * - the folder of its commands (run-folders.ts), which goes when the plan is over;
 * - its passwords (plan-secrets.ts), which go after its sandboxes and undo records: removing a sandbox may
 *   need them, and so may an undo;
 * - the records of its undo about originals (restored-remains.ts), which go with the last plan that needs
 *   them.
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

  /** The plans of which `forget` would remove something. Costs nothing where there is nothing. */
  async forgettable(): Promise<readonly string[]> {
    const [run, secret] = [this.#folders.plans(), this.#secrets.plans()];
    if (run.length + secret.length === 0) return [];
    const open = new Set(await this.#store.openPlansAmong([...run, ...secret]));
    const found = new Set(run.filter((planId) => !open.has(planId)));
    for (const planId of secret)
      if (!open.has(planId) && (await this.#needsNoSecrets(planId))) found.add(planId);
    return [...found];
  }

  /** Whether the plan has passwords. */
  hasSecrets(planId: string): boolean {
    return Object.keys(this.#secrets.of(planId)).length > 0;
  }

  /** Where the plan's passwords are, if it has some. */
  secretsPlace(planId: string): KnownPlace | undefined {
    return this.hasSecrets(planId) ? { kind: "passwords", location: this.#secrets.place(planId) } : undefined;
  }

  /** Removes the passwords of these resources. */
  forgetSecrets(planId: string, resourceIds: readonly string[]): void {
    if (this.hasSecrets(planId)) this.#secrets.without(planId, resourceIds);
  }

  /**
   * Removes what a plan no longer needs. The caller holds its claim, because a command might be about to use
   * it.
   */
  async forget(planId: string): Promise<void> {
    const plan = await this.#store.plan(planId);
    if (plan === undefined || isOver(plan)) this.#folders.remove(planId);
    if (plan !== undefined && isOver(plan)) await this.#restored.forget(plan);
    if (await this.#needsNoSecrets(planId)) this.#secrets.forget(planId);
  }

  /** Like `forget`, but returns failures instead of throwing. The next start tries again. */
  async tryToForget(planId: string): Promise<readonly string[]> {
    try {
      await this.forget(planId);
      return [];
    } catch (thrown) {
      return [`what its commands left could not be removed: ${messageOf(thrown)}`];
    }
  }

  async #needsNoSecrets(planId: string): Promise<boolean> {
    const plan = await this.#store.plan(planId);
    if (plan !== undefined && !isOver(plan)) return false;
    const sandboxes = await this.#store.sandboxesOf(planId);
    return sandboxes.every(({ state }) => state === "CLEANED_UP") && !(await this.#undoNeedsSecrets(planId));
  }

  /** Whether something has landed that an undo would have to log in for. */
  async #undoNeedsSecrets(planId: string): Promise<boolean> {
    const known = this.#secrets.of(planId);
    if (Object.keys(known).length === 0) return false;
    const all = await this.#store.transactionsOf(planId);
    const undone = all.filter(({ phase }) => ["landed", "done"].includes(phase)).map(({ undoes }) => undoes);
    const landed = all.filter(
      ({ id, direction, phase, undoRecord }) =>
        direction === "commit" && phase !== "aborted" && undoRecord === undefined && !undone.includes(id),
    );
    return landed
      .flatMap(({ participants }) => participants)
      .some(({ ref, kind, isFinal }) => ref.resourceId in known && kind === "two-phase" && isFinal !== true);
  }
}
