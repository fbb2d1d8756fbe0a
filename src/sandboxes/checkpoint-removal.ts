import type { CheckpointPart, CheckpointRecord } from "../core/checkpoint.ts";
import { messageOf } from "../core/errors/errors.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { Store, StoreChange } from "../store/store.ts";
import type { GuardedStrategy } from "../strategies/custom/guarded-strategy.ts";
import type { SweepReport } from "./sweep-report.ts";

/**
 * Removes checkpoints. Callers hold the plan's claim. In this order, in which a crash only delays the rest:
 *
 * 1. the checkpoint is recorded as `dropping`;
 * 2. its data is removed, unless another checkpoint refers to it;
 * 3. its record goes.
 */
export class CheckpointRemoval {
  readonly #store: Store;
  readonly #strategy: (name: string) => GuardedStrategy;

  constructor(store: Store, strategy: (name: string) => GuardedStrategy) {
    this.#store = store;
    this.#strategy = strategy;
  }

  /** Removes the checkpoints that are `dropping`. Returns the failures, a sentence each. */
  async drop(planId: string): Promise<readonly string[]> {
    const all = await this.#store.checkpointsOf(planId);
    const going = all.filter(({ state }) => state === "dropping");
    if (going.length === 0) return [];
    const needed = new Set(all.filter(({ state }) => state !== "dropping").flatMap(dataOf));
    const refs = await this.#liveRefs(planId);
    const failed = new Map<string, string>();
    const parts = new Map(going.flatMap((record) => record.parts.map((part) => [keyOf(part), part])));
    for (const [key, part] of parts) {
      const ref = needed.has(key) ? undefined : refs.get(part.sandboxId);
      if (ref === undefined) continue;
      try {
        await this.#strategy(ref.strategyName).discardCheckpoint(ref, part.dataId);
      } catch (thrown) {
        failed.set(key, `a checkpoint could not be removed: ${messageOf(thrown)}`);
      }
    }
    const gone = going.filter((record) => !dataOf(record).some((key) => failed.has(key)));
    await this.#write(gone.map(({ id }) => ({ drop: "checkpoint", id })));
    return [...failed.values()];
  }

  /** Ends all checkpoints of a plan. */
  async endAll(planId: string): Promise<readonly string[]> {
    const all = await this.#store.checkpointsOf(planId);
    await this.#write(dropped(all.filter(({ state }) => state !== "dropping")));
    return await this.drop(planId);
  }

  /**
   * Ends all checkpoints of a plan with an action on its sandboxes; they stay if the action failed for every
   * sandbox.
   */
  async ending(planId: string, action: () => Promise<SweepReport>): Promise<SweepReport> {
    const all = await this.#store.checkpointsOf(planId);
    if (all.length === 0) return await action();
    await this.#write(dropped(all));
    const report = await action();
    if (report.done.length > 0 || report.failed.length === 0) {
      const warnings = await this.drop(planId);
      const failed = warnings.map((message) => ({ resource: "checkpoints", message, cause: undefined }));
      return { ...report, failed: [...report.failed, ...failed] };
    }
    await this.#write(all.map((record) => ({ put: "checkpoint", record })));
    return report;
  }

  async #liveRefs(planId: string): Promise<ReadonlyMap<string, SandboxRef>> {
    const sandboxes = await this.#store.sandboxesOf(planId);
    return new Map(
      sandboxes.filter(({ state }) => state !== "CLEANED_UP").map(({ ref }) => [ref.sandboxId, ref] as const),
    );
  }

  async #write(changes: readonly StoreChange[]): Promise<void> {
    if (changes.length > 0) await this.#store.write(changes, "ordered");
  }
}

/** Records these checkpoints as `dropping`. */
export function dropped(records: readonly CheckpointRecord[]): StoreChange[] {
  return records.map((record) => ({ put: "checkpoint", record: { ...record, state: "dropping" } }));
}

function dataOf({ parts }: CheckpointRecord): string[] {
  return parts.map(keyOf);
}

function keyOf({ sandboxId, dataId }: CheckpointPart): string {
  return `${sandboxId}/${dataId}`;
}
