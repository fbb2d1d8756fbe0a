import { setTimeout as sleep } from "node:timers/promises";
import { BusyError, DrydockError, InterruptedError } from "../../core/errors/errors.ts";
import type { Owner } from "../../core/owner.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { splitHost } from "../../core/resource/host-location.ts";
import { sharedKey } from "../../store/claims.ts";
import type { Store } from "../../store/store.ts";
import type { Operations } from "./operations.ts";
import { underClaim } from "./present-claim.ts";

/** Makes owners, and knows which are alive. */
export interface OwnerRegistry {
  /** A new owner that counts as alive until it is released, or this process dies. */
  enter(): { readonly owner: Owner; release(): void };
  isAlive(owner: Owner): boolean;
}

const WAIT_MS = 10_000;
const POLL_MS = 50;

/**
 * Exclusive access to plans and originals, across processes and within one: every operation is an owner of
 * its own. Other operations wait for a while; then they are refused, with the name of the holder.
 */
export class Claims {
  readonly #store: Store;
  readonly #owners: OwnerRegistry;
  readonly #operations: Pick<Operations, "signal">;

  constructor(store: Store, owners: OwnerRegistry, operations: Pick<Operations, "signal">) {
    this.#store = store;
    this.#owners = owners;
    this.#operations = operations;
  }

  /** Runs the action while holding all these keys. */
  async holding<T>(
    keys: readonly string[],
    what: string,
    action: (owner: Owner) => Promise<T>,
    waitMs: number = WAIT_MS,
  ): Promise<T> {
    const { owner, release } = this.#owners.enter();
    try {
      await this.#acquire(keys, what, owner, waitMs);
      try {
        return await underClaim(owner, () => action(owner));
      } finally {
        await this.#giveUp(keys, owner);
      }
    } finally {
      release();
    }
  }

  /** Like `holding`, but returns undefined at once if a living owner holds any of the keys. */
  async ifFree<T>(keys: readonly string[], action: (owner: Owner) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.holding(keys, "", action, 0);
    } catch (thrown) {
      if (thrown instanceof BusyError && thrown.code === "CLAIMED") return undefined;
      throw thrown;
    }
  }

  /**
   * A claim counts only while its owner holds its lock, which is released right after. So a failed release
   * changes nothing for others, and must not hide the result of the action.
   */
  async #giveUp(keys: readonly string[], owner: Owner): Promise<void> {
    try {
      await this.#store.release(keys, owner);
    } catch (thrown) {
      if (!(thrown instanceof DrydockError)) throw thrown;
    }
  }

  async #acquire(keys: readonly string[], what: string, owner: Owner, waitMs: number): Promise<void> {
    const giveUpAt = Date.now() + waitMs;
    for (;;) {
      const result = await this.#store.claim(keys, owner, (other) => this.#owners.isAlive(other));
      if (result.granted) return;
      if (Date.now() >= giveUpAt) {
        const { command, pid, host } = result.holder;
        throw new BusyError(`${what} is in use by '${command}' (pid ${pid} on ${host}).`, {
          holder: `${command} (pid ${pid} on ${host})`,
          code: "CLAIMED",
        });
      }
      if (this.#operations.signal.aborted) throw new InterruptedError();
      await sleep(POLL_MS);
    }
  }
}

/** The keys of a plan and its originals. Their holder may land in these. */
export function claimsOf({ id, resources }: Pick<PlanRecord, "id" | "resources">): readonly string[] {
  return [planKey(id), ...resources.map(({ resource }) => originalKey(resource.location))];
}

/**
 * The keys for making a plan: many plans may be made from an original at once, but nothing may land in it.
 */
export function claimsToMake({ id, resources }: Pick<PlanRecord, "id" | "resources">): readonly string[] {
  return [planKey(id), ...resources.map(({ resource }) => sharedKey(originalKey(resource.location)))];
}

export function planKey(planId: string): string {
  return `plan:${planId}`;
}

/**
 * The claim on an original: a path excludes paths of its host that contain it or lie in it; any other
 * location excludes only itself, from whichever host it is reached.
 */
export function originalKey(location: string): string {
  const elsewhere = splitHost(location);
  if (elsewhere?.location.startsWith("/")) return `path:${location}`;
  return location.startsWith("/") ? `path:${location}` : `location:${elsewhere?.location ?? location}`;
}
