import type { CheckpointPart, CheckpointRecord } from "../core/checkpoint.ts";
import { messageOf } from "../core/errors.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { Store, StoreChange } from "../store/store.ts";
import type { GuardedStrategy } from "../strategies/custom/guarded-strategy.ts";
import type { SweepReport } from "./sweep-report.ts";

/**
 * How checkpoints end. That one is `dropping` is recorded first, then its data is removed, unless another one refers to it, and last the
 * record goes: a crash in between only delays it. Callers hold the plan's claim.
 */
export class KeptCheckpoints {
  readonly #store: Store;
  readonly #strategy: (name: string) => GuardedStrategy;

  constructor(store: Store, strategy: (name: string) => GuardedStrategy) {
    this.#store = store;
    this.#strategy = strategy;
  }

  /** Removes what was recorded as `dropping`; says what it could not. */
  async drop(planId: string): Promise<readonly string[]> {
    const all = await this.#store.checkpointsOf(planId);
    const going = all.filter(({ state }) => state === "dropping");
    if (going.length === 0) return [];
    const needed = new Set(all.filter(({ state }) => state !== "dropping").flatMap(dataOf));
    const refs = await this.#liveRefs(planId);
    const left = new Map<string, string>();
    const parts = new Map(going.flatMap((record) => record.parts.map((part) => [keyOf(part), part])));
    for (const [key, part] of parts) {
      const ref = needed.has(key) ? undefined : refs.get(part.sandboxId);
      if (ref === undefined) continue;
      try {
        await this.#strategy(ref.strategyName).discardCheckpoint(ref, part.dataId);
      } catch (thrown) {
        left.set(key, `a checkpoint could not be removed: ${messageOf(thrown)}`);
      }
    }
    const gone = going.filter((record) => !dataOf(record).some((key) => left.has(key)));
    await this.#write(gone.map(({ id }) => ({ drop: "checkpoint", id })));
    return [...left.values()];
  }

  /** Ends all checkpoints of a plan. */
  async endAll(planId: string): Promise<readonly string[]> {
    const all = await this.#store.checkpointsOf(planId);
    await this.#write(dropped(all.filter(({ state }) => state !== "dropping")));
    return await this.drop(planId);
  }

  /** Ends all checkpoints of a plan with what is done to its sandboxes; if nothing could be done to any, they stay. */
  async ending(planId: string, action: () => Promise<SweepReport>): Promise<SweepReport> {
    const all = await this.#store.checkpointsOf(planId);
    if (all.length === 0) return await action();
    await this.#write(dropped(all));
    const report = await action();
    if (report.done.length > 0 || report.failed.length === 0) {
      const left = await this.drop(planId);
      const failed = left.map((message) => ({ resource: "checkpoints", message, cause: undefined }));
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

/** What records that these checkpoints end. */
export function dropped(records: readonly CheckpointRecord[]): StoreChange[] {
  return records.map((record) => ({ put: "checkpoint", record: { ...record, state: "dropping" } }));
}

function dataOf({ parts }: CheckpointRecord): string[] {
  return parts.map(keyOf);
}

function keyOf({ sandboxId, dataId }: CheckpointPart): string {
  return `${sandboxId}/${dataId}`;
}
