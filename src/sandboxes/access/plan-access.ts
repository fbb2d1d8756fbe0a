import { UsageError } from "../../core/errors/errors.ts";
import type { Owner } from "../../core/owner.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { isOver, type PlanRecord } from "../../core/plan.ts";
import type { Store } from "../../store/store.ts";
import { type Claims, claimsOf, claimsToMake, planKey } from "./claims.ts";
import type { Operations } from "./operations.ts";

/** Works on a plan whose claim the owner holds. */
type Action<T> = (plan: PlanRecord, owner: Owner) => Promise<T>;

/**
 * Finds plans, and gives one process at a time access to each. An action gets the plan as it is under the
 * claim: another process may have changed it before.
 */
export class PlanAccess {
  readonly #store: Store;
  readonly #claims: Claims;
  readonly #operations: Operations;

  constructor(store: Store, claims: Claims, operations: Operations) {
    this.#operations = operations;
    this.#store = store;
    this.#claims = claims;
  }

  /** The plan of a key: its id, a unique prefix of it, or its name; without a key, the only open plan. */
  async find(key: string | undefined): Promise<PlanRecord> {
    const plan = await this.#found(key);
    this.#operations.knows(plan);
    return plan;
  }

  async #found(key: string | undefined): Promise<PlanRecord> {
    if (key === undefined)
      return onlyPlan(await this.#store.listPlans("open"), "open plan", "Name the plan.");
    if (key.trim() === "")
      throw new UsageError("The name of the plan is empty.", {
        hint: "Give its id, a prefix of it, or its name.",
        code: "UNKNOWN_PLAN",
      });
    const found = await this.#store.findPlans(key);
    const exact = found.filter(({ id }) => id.toLowerCase() === key.toLowerCase());
    if (exact[0] !== undefined) return exact[0];
    const named = found.filter(({ name }) => name === key);
    const openNamed = named.filter(({ state }) => state === "open");
    if (named.length > 1 && openNamed.length === 1 && openNamed[0] !== undefined) return openNamed[0];
    if (named.length > 0)
      return onlyPlan(named, `plan '${displayPath(key)}'`, "Several have this name; use the id.");
    return onlyPlan(found, `plan '${displayPath(key)}'`, "Use more of the id.");
  }

  /** Works on a plan while holding its claim. */
  async claimed<T>(key: string | undefined, action: Action<T>): Promise<T> {
    const { id, name } = await this.find(key);
    return await this.#claims.holding([planKey(id)], `The plan ${name}`, async (owner) =>
      action(await this.find(id), owner),
    );
  }

  /** Works on a plan and its originals while holding the claims of all of them. */
  async withOriginals<T>(key: string, action: Action<T>): Promise<T> {
    const known = await this.find(key);
    const what = `The plan ${known.name} or one of its originals`;
    return await this.#claims.holding(claimsOf(known), what, async (owner) =>
      action(await this.find(known.id), owner),
    );
  }

  /** Like `withOriginals`, but returns undefined at once if another process holds one of the claims. */
  async withOriginalsIfFree<T>(known: PlanRecord, action: Action<T>): Promise<T | undefined> {
    return await this.#claims.ifFree(claimsOf(known), async (owner) =>
      action(await this.find(known.id), owner),
    );
  }

  /**
   * Holds the claim of a plan, or returns undefined at once if another process does. The plan may be unknown:
   * leftovers of a lost record are claimed by the id of their plan too.
   */
  async ifFree<T>(
    planId: string,
    action: (plan: PlanRecord | undefined) => Promise<T>,
  ): Promise<T | undefined> {
    return await this.#claims.ifFree([planKey(planId)], async () => action(await this.#store.plan(planId)));
  }

  /** Records a plan under this name, which no other plan that is not over may have. */
  async naming<T>(name: string, action: () => Promise<T>): Promise<T> {
    return await this.#claims.holding([`name:${name}`], `The name '${displayPath(name)}'`, async () => {
      const other = (await this.#store.findPlans(name)).find((plan) => plan.name === name && !isOver(plan));
      if (other === undefined) return await action();
      throw new UsageError(`There already is an open plan '${displayPath(name)}' (${other.id}).`, {
        code: "PLAN_NAME_TAKEN",
        details: { planId: other.id },
      });
    });
  }

  /** Takes resources into a plan. Nothing may land in their originals meanwhile. */
  async extending<T>(key: string, added: PlanRecord["resources"], action: Action<T>): Promise<T> {
    const { id, name } = await this.find(key);
    const keys = claimsToMake({ id, resources: added });
    return await this.#claims.holding(keys, `The plan ${name} or one of the originals`, async (owner) =>
      action(await this.find(id), owner),
    );
  }

  /** Makes a plan. Nothing may land in an original during the copy, or the copy would be a mix. */
  async making<T>(plan: PlanRecord, action: () => Promise<T>): Promise<T> {
    this.#operations.knows(plan);
    return await this.#claims.holding(claimsToMake(plan), "One of the originals", action);
  }
}

function onlyPlan(candidates: readonly PlanRecord[], what: string, hint: string): PlanRecord {
  const [first, ...others] = candidates;
  if (first === undefined) throw new UsageError(`There is no ${what}.`, { code: "UNKNOWN_PLAN" });
  if (others.length === 0) return first;
  const list = candidates.map(({ id, name }) => `${id} (${name})`).join(", ");
  throw new UsageError(`There are ${candidates.length} plans that this could be: ${list}.`, {
    hint,
    code: "AMBIGUOUS_PLAN",
  });
}
