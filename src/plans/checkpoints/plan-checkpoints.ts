import type { CheckpointPart, CheckpointRecord } from "../../core/checkpoint.ts";
import {
  BusyError,
  DrydockError,
  PlanStateError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { movePlan, type PlanRecord } from "../../core/plan.ts";
import type { SandboxRecord } from "../../core/sandbox.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { dropped } from "../../sandboxes/checkpoint-removal.ts";
import type { StoreChange } from "../../store/store.ts";
import { newId } from "../../system/state/new-id.ts";
import { savedCheckpoints } from "./find-checkpoint.ts";

/** The facts of a new checkpoint. */
export interface CheckpointFacts {
  readonly label?: string;
  /** The command before which Drydock makes it by itself. */
  readonly before?: string;
}

/**
 * Saves the sandboxes of a plan. Callers hold the plan's claim. Order of writes:
 *
 * 1. the record (`saving`), with the id under which each strategy is about to save;
 * 2. the data, which each strategy flushes;
 * 3. the record (`saved`), durably, and in the same write the checkpoints that it replaces as `dropping`;
 * 4. the data of those is removed.
 *
 * After a crash before step 3, the record says where the unfinished data is.
 */
export class PlanCheckpoints {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  /** Saves the state of every sandbox. The warnings say which outdated checkpoints could not be removed. */
  async save(
    plan: PlanRecord,
    { label, before }: CheckpointFacts,
  ): Promise<{ readonly record: CheckpointRecord; readonly warnings: readonly string[] }> {
    const { store, history, sandboxes } = this.#session;
    const all = await this.saved(plan);
    await this.assertPossible(plan);
    if (label !== undefined && all.some((other) => other.label === label))
      throw new UsageError(`The plan ${plan.name} has a checkpoint called '${label}' already.`, {
        hint: "Choose another label.",
        code: "LABEL_TAKEN",
      });
    const facts = { ...(label !== undefined && { label }), ...(before !== undefined && { before }) };
    const { record, isSame } = await this.saveUnrecorded(plan, facts);
    const entry = history.entry(plan.id, "checkpoint", { checkpoint: record.id, ...facts });
    // A checkpoint that equals the last one has all its data on disk already, so a power cut may lose its
    // record.
    await store.write([...(await this.recorded(plan, record)), entry], isSame ? "ordered" : "durable");
    const warnings = await sandboxes.checkpoints.drop(plan.id);
    return { record: { ...record, state: "saved" }, warnings };
  }

  /** Makes a checkpoint one that a user can restore, and lets those go that are too many then. */
  async recorded(plan: PlanRecord, record: CheckpointRecord): Promise<readonly StoreChange[]> {
    const saved: CheckpointRecord = { ...record, state: "saved" };
    const outdated = [...(await this.saved(plan)), saved]
      .filter((each) => each.label === undefined)
      .slice(0, -this.#session.settings.checkpoint.keep);
    return [{ put: "checkpoint", record: saved }, ...dropped(outdated)];
  }

  /**
   * Saves a plan before a command runs in it, if the settings ask for that. Does nothing where it is
   * impossible: a strategy has no checkpoints, or a program is at work in a sandbox, whose state is not worth
   * going back to.
   */
  async saveBefore(plan: PlanRecord, command: string): Promise<void> {
    if (!this.#session.settings.checkpoint.autoCreateOn.includes("exec")) return;
    if ((await this.withoutCheckpoints(plan)) !== undefined) return;
    try {
      await this.save(plan, { before: command });
    } catch (thrown) {
      if (!(thrown instanceof BusyError)) throw thrown;
    }
  }

  /** The checkpoints of a plan that can be restored, oldest first. */
  async saved(plan: PlanRecord): Promise<readonly CheckpointRecord[]> {
    return await savedCheckpoints(this.#session, plan);
  }

  /** Refuses, with the reason, before anything is made. */
  async assertPossible(plan: PlanRecord): Promise<void> {
    const { sandboxes } = this.#session;
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
    for (const item of plan.resources) {
      const { resource, strategy, may } = item;
      const isAllowed = may?.includes("checkpoint") !== false;
      if (!isAllowed || !(await this.#session.sandboxes.capabilities(item)).checkpoint)
        return { resource: resource.name, strategy };
    }
    return undefined;
  }

  /**
   * Saves all data of a checkpoint and returns its record, which is still `saving`. After a failure nothing
   * remains.
   */
  async saveUnrecorded(
    plan: PlanRecord,
    facts: Pick<CheckpointRecord, "label" | "before" | "restores">,
  ): Promise<{ readonly record: CheckpointRecord; readonly isSame: boolean }> {
    const { store, now } = this.#session;
    const last = (await this.saved(plan)).at(-1);
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
    const all = await this.#session.store.sandboxesOf(plan.id);
    return plan.resources.flatMap(
      ({ resource }) => all.find(({ ref }) => ref.resourceId === resource.id) ?? [],
    );
  }

  async #savePart(
    { ref }: SandboxRecord,
    id: string,
    last: CheckpointRecord | undefined,
  ): Promise<CheckpointPart> {
    const earlier = last?.parts.find(({ sandboxId }) => sandboxId === ref.sandboxId);
    const known = earlier?.mark === undefined ? undefined : { id: earlier.dataId, mark: earlier.mark };
    const { isSame, mark, bytes } = await this.#session.sandboxes
      .strategy(ref.strategyName)
      .checkpoint(ref, id, known);
    return {
      sandboxId: ref.sandboxId,
      dataId: isSame === true && known !== undefined ? known.id : id,
      ...(mark !== undefined && { mark }),
      ...(bytes !== undefined && { bytes }),
    };
  }

  /**
   * Removes an unfinished checkpoint. If that fails, the next start does it: the reason of the failed
   * checkpoint matters more.
   */
  async giveUp(begun: CheckpointRecord): Promise<void> {
    const { store, sandboxes } = this.#session;
    try {
      await store.write(dropped([begun]), "ordered");
      await sandboxes.checkpoints.drop(begun.planId);
    } catch (thrown) {
      if (!(thrown instanceof DrydockError)) throw thrown;
    }
  }
}

/** Moves a plan to this state. */
export function planMoved(plan: PlanRecord, to: "open" | "restoring" | "updating"): StoreChange {
  return { put: "plan", record: { ...plan, state: movePlan(plan, to) } };
}
