import { UsageError } from "../core/errors/errors.ts";
import type { Owner } from "../core/owner.ts";
import type { SandboxRecord, SandboxRef } from "../core/sandbox.ts";
import { moveSandbox } from "../core/sandbox-states.ts";
import type { IntendedPlace } from "../core/strategy.ts";
import type { Store, StoreChange } from "../store/store.ts";
import { currentBootId } from "../system/process/process-identity.ts";

/**
 * What strategies report about their sandboxes during work, through their context. Making a sandbox writes in
 * this order, so that a crash leaves nothing unknown:
 *
 * 1. `recordIntent`, called by the strategy in `create`: the sandbox is PENDING, with its future places.
 * 2. The strategy makes these places.
 * 3. `PlanSandboxes.getOrCreate`, when `create` has returned: the sandbox is CREATED.
 *
 * A sandbox that is found PENDING was not finished, and is removed.
 */
export class SandboxReports {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #self: () => Owner;

  /** `self` is the process that records. */
  constructor(store: Store, now: () => Date, self: () => Owner) {
    this.#store = store;
    this.#now = now;
    this.#self = self;
  }

  /** Records durably that a sandbox is about to exist at these places. */
  async recordIntent(ref: SandboxRef, places: readonly IntendedPlace[]): Promise<void> {
    const owner = this.#self();
    const recordedAt = this.#now().toISOString();
    const intents: StoreChange[] = places.map(({ kind, location }) => ({
      put: "intent",
      record: { sandboxId: ref.sandboxId, planId: ref.planId, kind, location, recordedAt, owner },
    }));
    await this.#store.write(
      [{ put: "sandbox", record: pendingSandbox(ref, this.#now()) }, ...intents],
      "durable",
    );
  }

  /** Records that the work of a sandbox is lost. `by` is the custom strategy that reports it. */
  async recordLoss({ sandboxId }: SandboxRef, why: string, by?: string): Promise<void> {
    const record = await this.#store.sandbox(sandboxId);
    if (record === undefined || record.state === "CLEANED_UP") return;
    if (by !== undefined && record.ref.strategyName !== by)
      throw new UsageError("A loss is recorded for a sandbox of another strategy.", {
        hint: "Call recordLoss with a ref that was given to this strategy.",
        code: "FOREIGN_SANDBOX",
      });
    const state = moveSandbox(sandboxId, record.state, "ERRORED");
    await this.#store.write([{ put: "sandbox", record: { ...record, state, error: why } }], "ordered");
  }
}

/** The record of a sandbox in the making. */
export function pendingSandbox(ref: SandboxRef, now: Date): SandboxRecord {
  return { ref, state: "PENDING", createdAt: now.toISOString(), bootId: currentBootId() };
}
