import type { PlanRecord } from "../../core/plan.ts";
import { forgetRestored, restoredNames, restoredNamesOf } from "../../engine/base/own-touches.ts";
import type { Store } from "../../store/store.ts";

/** Later than any time. */
const END_OF_TIME = "9999";

/**
 * The records of undos about originals, for other plans on the same originals
 * (engine/base/own-touches.ts). They are needed while one of these plans is open or can be undone. A
 * later plan reads the originals as they are then.
 */
export class RestoredRemains {
  readonly #store: Store;
  readonly #stateDir: string;

  constructor(store: Store, stateDir: string) {
    this.#store = store;
    this.#stateDir = stateDir;
  }

  /** The names of records that no plan needs. Costs nothing where there are none. */
  async unneeded(): Promise<readonly string[]> {
    const names = restoredNames(this.#stateDir);
    return names.length === 0 ? [] : await this.#unneededOf(names);
  }

  /** Removes the records about the originals of a plan that is over, if no other plan needs them. */
  async forget({ resources }: PlanRecord): Promise<void> {
    const all = new Set(restoredNames(this.#stateDir));
    const own = resources
      .flatMap(({ resource }) => restoredNamesOf(resource.location))
      .filter((name) => all.has(name));
    if (own.length === 0) return;
    for (const name of await this.#unneededOf(own)) forgetRestored(this.#stateDir, name);
  }

  async #unneededOf(names: readonly string[]): Promise<readonly string[]> {
    const plans = [...(await this.#store.listPlans("open")), ...(await this.#undoable())];
    const needed = new Set(
      plans.flatMap(({ resources }) =>
        resources.flatMap(({ resource }) => restoredNamesOf(resource.location)),
      ),
    );
    return names.filter((name) => !needed.has(name));
  }

  async #undoable(): Promise<readonly PlanRecord[]> {
    const ids = new Set((await this.#store.undoRecords(END_OF_TIME)).map(({ planId }) => planId));
    const plans = await Promise.all([...ids].map((id) => this.#store.plan(id)));
    return plans.flatMap((plan) => (plan?.state === "applied" ? [plan] : []));
  }
}
