import { AsyncLocalStorage } from "node:async_hooks";
import type { Owner } from "../../core/owner.ts";

/**
 * The owner of the claim under which the present code works, through every asynchronous step. Another host
 * that is asked to change something checks that this owner holds the plan.
 */
const present = new AsyncLocalStorage<Owner>();

export function presentClaim(): Owner | undefined {
  return present.getStore();
}

export function underClaim<T>(owner: Owner, action: () => T): T {
  return present.run(owner, action);
}
