import type { CheckpointPart, CheckpointRecord } from "../core/checkpoint.ts";
import { DrydockError, PlanStateError, UnsupportedError, UsageError } from "../core/errors.ts";
import { movePlan, type PlanRecord } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import { dropped } from "../sandboxes/kept-checkpoints.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { HistoryEntry, Store, StoreChange } from "../store/store.ts";
import { newId } from "../system/new-id.ts";

export interface PlanCheckpointsParts {
  readonly store: Store;
  readonly sandboxes: PlanSandboxes;
  readonly now: () => Date;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
  /** How many without a label are kept of a plan. */
  readonly keep: number;
}

/** What is said of a new checkpoint. */
export interface CheckpointFacts {
  readonly label?: string;
  /** The command before which Drydock makes it by itself. */
  readonly before?: string;
}

/**
 * Saves the sandboxes of a plan. Callers hold the plan's claim.
 *
 * Order of writes: the record (`saving`), with the id under which each strategy is about to save; the data, which each strategy flushes; the
 * record (`saved`), durably, and in the same write those that it pushes out as `dropping`; then their data goes. A crash before `saved`
 * leaves a record by which the half-made data is found.
 */
export class PlanCheckpoints {
  readonly #parts: PlanCheckpointsParts;

  constructor(parts: PlanCheckpointsParts) {
    this.#parts = parts;
  }

  /** Saves the state of every sandbox. Returns what could not be removed of those that are no longer kept. */
  async save(
    plan: PlanRecord,
    { label, before }: CheckpointFacts,
  ): Promise<{ readonly record: CheckpointRecord; readonly warnings: readonly string[] }> {
    const all = await this.kept(plan);
    await this.assertPossible(plan);
    if (label !== undefined && all.some((other) => other.label === label))
      throw new UsageError(`The plan ${plan.name} has a checkpoint called '${label}' already.`, {
        hint: "Choose another label.",
        code: "LABEL_TAKEN",
      });
    const facts = { ...(label !== undefined && { label }), ...(before !== undefined && { before }) };
    const { record, isSame } = await this.saveUnrecorded(plan, facts);
    const saved: CheckpointRecord = { ...record, state: "saved" };
    const outdated = [...all, saved].filter((each) => each.label === undefined).slice(0, -this.#parts.keep);
    const entry = this.#parts.history(plan.id, "checkpoint", { checkpoint: saved.id, ...facts });
    const changes: StoreChange[] = [
      { put: "checkpoint", record: saved },
      ...dropped(outdated),
      { put: "history", record: entry },
    ];
    // One that refers to what is on disk already loses nothing if a power cut takes its record.
    await this.#parts.store.write(changes, isSame ? "ordered" : "durable");
    return { record: saved, warnings: await this.#parts.sandboxes.checkpoints.drop(plan.id) };
  }

  /** The checkpoints of a plan that can be restored, the oldest first. */
  async kept({ id }: PlanRecord): Promise<readonly CheckpointRecord[]> {
    return (await this.#parts.store.checkpointsOf(id)).filter(({ state }) => state === "saved");
  }

  /** Refuses, with the reason, before anything is made. */
  async assertPossible(plan: PlanRecord): Promise<void> {
    const { sandboxes } = this.#parts;
    if (plan.state !== "open") throw new PlanStateError(plan, "open");
    sandboxes.assertFree(plan);
    const lacking = await this.withoutCheckpoints(plan);
    if (lacking !== undefined)
      throw new UnsupportedError(
        `${lacking.resource} has no checkpoints: its strategy ${lacking.strategy} can't save a state, or its type does not allow it.`,
        { hint: "Checkpoints are of all resources of a plan. Put this one into a plan of its own." },
      );
    for (const { resource } of plan.resources) await sandboxes.usable(plan, resource.name, "look");
  }

  /** The first resource whose strategy has no checkpoints. */
  async withoutCheckpoints(
    plan: PlanRecord,
  ): Promise<{ readonly resource: string; readonly strategy: string } | undefined> {
    for (const { resource, strategy, may } of plan.resources) {
      const isAllowed = may?.includes("checkpoint") !== false;
      if (!isAllowed || !(await this.#parts.sandboxes.capabilities(strategy)).checkpoint)
        return { resource: resource.name, strategy };
    }
    return undefined;
  }

  /** Saves all data of a checkpoint and returns its record, which is still `saving`. What can't be finished leaves nothing. */
  async saveUnrecorded(
    plan: PlanRecord,
    facts: Pick<CheckpointRecord, "label" | "before" | "restores">,
  ): Promise<{ readonly record: CheckpointRecord; readonly isSame: boolean }> {
    const { store, now } = this.#parts;
    const last = (await this.kept(plan)).at(-1);
    const sandboxes = await this.sandboxesOf(plan);
    const id = newId();
    const begun: CheckpointRecord = {
      id,
      planId: plan.id,
      ...facts,
      createdAt: now().toISOString(),
      state: "saving",
      parts: sandboxes.map(({ ref }) => ({ sandboxId: ref.sandboxId, dataId: id })),
    };
    await store.write([{ put: "checkpoint", record: begun }], "ordered");
    try {
      const parts: CheckpointPart[] = [];
      for (const sandbox of sandboxes) parts.push(await this.#savePart(sandbox, id, last));
      return { record: { ...begun, parts }, isSame: parts.every(({ dataId }) => dataId !== id) };
    } catch (thrown) {
      await this.giveUp(begun);
      throw thrown;
    }
  }

  /** The sandboxes of a plan's resources, in their order. */
  async sandboxesOf(plan: PlanRecord): Promise<readonly SandboxRecord[]> {
    const all = await this.#parts.store.sandboxesOf(plan.id);
    return plan.resources.flatMap(({ resource }) => all.find(({ ref }) => ref.resourceId === resource.id) ?? []);
  }

  async #savePart({ ref }: SandboxRecord, id: string, last: CheckpointRecord | undefined): Promise<CheckpointPart> {
    const earlier = last?.parts.find(({ sandboxId }) => sandboxId === ref.sandboxId);
    const known = earlier?.mark === undefined ? undefined : { id: earlier.dataId, mark: earlier.mark };
    const { isSame, mark, bytes } = await this.#parts.sandboxes.strategy(ref.strategyName).checkpoint(ref, id, known);
    return {
      sandboxId: ref.sandboxId,
      dataId: isSame === true && known !== undefined ? known.id : id,
      ...(mark !== undefined && { mark }),
      ...(bytes !== undefined && { bytes }),
    };
  }

  /** Removes one that was not finished. What can't be removed now is removed by the next start; why the checkpoint failed matters more. */
  async giveUp(begun: CheckpointRecord): Promise<void> {
    const { store, sandboxes } = this.#parts;
    try {
      await store.write(dropped([begun]), "ordered");
      await sandboxes.checkpoints.drop(begun.planId);
    } catch (thrown) {
      if (!(thrown instanceof DrydockError)) throw thrown;
    }
  }
}

/** What moves a plan to this state. */
export function planMoved(plan: PlanRecord, to: "open" | "restoring"): StoreChange {
  return { put: "plan", record: { ...plan, state: movePlan(plan, to) } };
}
