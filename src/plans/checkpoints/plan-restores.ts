import type { ResumedCheckpoints, UnfinishedCheckpoints } from "../../commit/recovery.ts";
import type { CheckpointRecord } from "../../core/checkpoint.ts";
import { messageOf, SandboxRollbackError } from "../../core/errors/errors.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { moveSandbox } from "../../core/sandbox-states.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { dropped } from "../../sandboxes/checkpoint-removal.ts";
import type { StoreChange } from "../../store/store.ts";
import { type PlanCheckpoints, planMoved } from "./plan-checkpoints.ts";

/**
 * Restores all sandboxes of a plan to a checkpoint, or none. Callers hold the plan's claim.
 *
 * Order of writes:
 * 1. The present state is saved as a checkpoint that no list shows (`saving`).
 * 2. That checkpoint becomes `restoring`, and the plan with it, durably: from here on recovery finishes the
 *    restore.
 * 3. Each strategy restores its sandbox.
 * 4. One durable write opens the plan, and sets the checkpoint of step 1 and all after the restored one to
 *    `dropping`.
 * 5. The data of these is removed.
 *
 * If step 3 fails, the checkpoint of step 1 becomes `returning`, durably, and every sandbox is brought back
 * to it; after a crash recovery continues that. If that fails too, it stays `returning`, blocks only its
 * plan, and each start tries again.
 */
export class PlanRestores implements UnfinishedCheckpoints {
  readonly #session: PlanSession;
  readonly #checkpoints: PlanCheckpoints;

  constructor(session: PlanSession, checkpoints: PlanCheckpoints) {
    this.#session = session;
    this.#checkpoints = checkpoints;
  }

  /** Returns the checkpoints that the restore ended, and the failures to remove them. */
  async restore(
    plan: PlanRecord,
    target: CheckpointRecord,
  ): Promise<{ readonly ended: readonly CheckpointRecord[]; readonly warnings: readonly string[] }> {
    const { store, sandboxes } = this.#session;
    await this.#checkpoints.assertPossible(plan);
    const { record } = await this.#checkpoints.saveUnrecorded(plan, { restores: target.id });
    const safety: CheckpointRecord = { ...record, state: "restoring" };
    const begun = planMoved(plan, "restoring");
    try {
      await store.write(
        [{ put: "checkpoint", record: safety }, begun, ...(await this.#activated(plan))],
        "durable",
      );
    } catch (thrown) {
      await this.#checkpoints.giveUp(record);
      throw thrown;
    }
    const restoring: PlanRecord = { ...plan, state: "restoring" };
    try {
      await this.#bringTo(restoring, target);
    } catch (thrown) {
      await this.goBack(restoring, safety, thrown);
      throw thrown;
    }
    const ended = await this.#conclude(restoring, safety, target);
    return { ended, warnings: await sandboxes.checkpoints.drop(plan.id) };
  }

  /**
   * Continues a restore that a dead process left unfinished, and removes unfinished and dropped checkpoints.
   */
  async resume(plan: PlanRecord): Promise<ResumedCheckpoints> {
    const { store, sandboxes } = this.#session;
    const all = await store.checkpointsOf(plan.id);
    const halfMade = all.filter(({ state }) => state === "saving");
    if (halfMade.length > 0) await store.write(dropped(halfMade), "ordered");
    const safety = all.find(({ state }) => state === "restoring" || state === "returning");
    const resumed = safety && (() => this.#resumeRestore(plan, safety, all));
    // Commands go on when a restore dies; it ends as it began, while they stand still.
    const restore = resumed && (await sandboxes.hold.during(plan, "restore", resumed));
    return { restore, warnings: await sandboxes.checkpoints.drop(plan.id) };
  }

  async #resumeRestore(
    plan: PlanRecord,
    safety: CheckpointRecord,
    all: readonly CheckpointRecord[],
  ): Promise<ResumedCheckpoints["restore"]> {
    const target = all.find(({ id, state }) => id === safety.restores && state === "saved");
    if (safety.state === "restoring" && target !== undefined) {
      try {
        await this.#bringTo(plan, target);
      } catch (thrown) {
        await this.goBack(plan, safety, thrown);
        return "taken back";
      }
      await this.#conclude(plan, safety, target);
      return "finished";
    }
    await this.goBack(plan, safety, undefined);
    return "taken back";
  }

  async #bringTo(plan: PlanRecord, { parts }: CheckpointRecord): Promise<void> {
    const { sandboxes } = this.#session;
    for (const { ref } of await this.#checkpoints.sandboxesOf(plan)) {
      const part = parts.find(({ sandboxId }) => sandboxId === ref.sandboxId);
      if (part !== undefined) await sandboxes.strategy(ref.strategyName).restoreCheckpoint(ref, part.dataId);
    }
  }

  /**
   * Brings all sandboxes back to a checkpoint, after a restore or an update that failed or was cut off. A
   * failure does not stop the others; the error names all.
   */
  async goBack(plan: PlanRecord, safety: CheckpointRecord, cause: unknown): Promise<void> {
    const { store, history, sandboxes } = this.#session;
    const returning: CheckpointRecord = { ...safety, state: "returning" };
    await store.write([{ put: "checkpoint", record: returning }], "durable");
    const failures: { readonly message: string; readonly thrown: unknown }[] = [];
    for (const { ref } of (await this.#checkpoints.sandboxesOf(plan)).toReversed()) {
      const part = safety.parts.find(({ sandboxId }) => sandboxId === ref.sandboxId);
      if (part === undefined) continue;
      try {
        await sandboxes.strategy(ref.strategyName).restoreCheckpoint(ref, part.dataId);
      } catch (thrown) {
        const resource = plan.resources.find((item) => item.resource.id === ref.resourceId)?.resource.name;
        failures.push({ message: `${resource ?? ref.resourceId}: ${messageOf(thrown)}`, thrown });
      }
    }
    const [first] = failures;
    if (first !== undefined)
      throw notBack(
        cause,
        failures.map(({ message }) => message),
        first.thrown,
      );
    const failure = { ...(cause !== undefined && { failure: messageOf(cause) }) };
    const entry =
      safety.restores === undefined
        ? history.entry(plan.id, "not updated", failure)
        : history.entry(plan.id, "not restored", { checkpoint: safety.restores, ...failure });
    await store.write([...dropped([returning]), planMoved(plan, "open"), entry], "durable");
    await sandboxes.checkpoints.drop(plan.id);
  }

  /** Returns the checkpoints that were made after the restored one. */
  async #conclude(
    plan: PlanRecord,
    safety: CheckpointRecord,
    target: CheckpointRecord,
  ): Promise<readonly CheckpointRecord[]> {
    const { store, history } = this.#session;
    const all = await this.#checkpoints.saved(plan);
    const later = all.slice(all.findIndex(({ id }) => id === target.id) + 1);
    const facts = { checkpoint: target.id, ...(target.label !== undefined && { label: target.label }) };
    const changes: StoreChange[] = [
      ...dropped([safety, ...later]),
      planMoved(plan, "open"),
      history.entry(plan.id, "restored", facts),
    ];
    await store.write(changes, "durable");
    return later;
  }

  /** Restored sandboxes hold work. */
  async #activated(plan: PlanRecord): Promise<StoreChange[]> {
    const sandboxes = await this.#checkpoints.sandboxesOf(plan);
    return sandboxes
      .filter(({ state }) => state !== "ACTIVE")
      .map((record) => ({
        put: "sandbox",
        record: { ...record, state: moveSandbox(record.ref.sandboxId, record.state, "ACTIVE") },
      }));
  }
}

function notBack(cause: unknown, failures: readonly string[], thrown: unknown): SandboxRollbackError {
  const why = cause === undefined ? "" : ` (${messageOf(cause)})`;
  return new SandboxRollbackError(
    `The restore failed${why}, and the state before it could not be brought back yet: ${failures.join("; ")}`,
    {
      cause: cause ?? thrown,
      code: "RESTORE_UNFINISHED",
    },
  );
}
