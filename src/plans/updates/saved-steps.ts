import type { CheckpointRecord } from "../../core/checkpoint.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { dropped } from "../../sandboxes/checkpoint-removal.ts";
import type { StoreChange } from "../../store/store.ts";
import { type PlanCheckpoints, planMoved } from "../checkpoints/plan-checkpoints.ts";
import type { PlanRestores } from "../checkpoints/plan-restores.ts";

type HistoryChange = Extract<StoreChange, { readonly put: "history" }>;

/**
 * Steps that Drydock itself does in all sandboxes of a plan: an update, a word on a conflict, a rollback of a
 * part. The originals stay untouched.
 *
 * Order of writes:
 * 1. The present state is saved as a checkpoint that no list shows (`saving`).
 * 2. That checkpoint becomes `returning`, and the plan `updating`, durably: from here on recovery takes the
 *    step back.
 * 3. Each strategy does its part.
 * 4. One durable write opens the plan and makes the checkpoint an ordinary one, with which a user takes the
 *    step back; or drops it, if nothing was done.
 *
 * If step 3 fails, every sandbox is brought back to the checkpoint, as after a failed restore
 * (plan-restores.ts).
 */
export class SavedSteps {
  readonly #session: PlanSession;
  readonly #checkpoints: PlanCheckpoints;
  readonly #restores: PlanRestores;

  constructor(session: PlanSession, checkpoints: PlanCheckpoints, restores: PlanRestores) {
    this.#session = session;
    this.#checkpoints = checkpoints;
    this.#restores = restores;
  }

  /** Does something to the sandboxes of a plan that a failure, a crash or the user can take back. */
  async saved<T>(
    plan: PlanRecord,
    before: string,
    action: (updating: PlanRecord) => Promise<{ readonly result: T; readonly entry?: HistoryChange }>,
  ): Promise<{ readonly result: T; readonly checkpoint?: string }> {
    const { store, sandboxes, history } = this.#session;
    await this.#checkpoints.assertPossible(plan);
    const { record } = await this.#checkpoints.saveUnrecorded(plan, { before });
    const safety: CheckpointRecord = { ...record, state: "returning" };
    const updating: PlanRecord = { ...plan, state: "updating" };
    try {
      await store.write([{ put: "checkpoint", record: safety }, planMoved(plan, "updating")], "durable");
    } catch (thrown) {
      await this.#checkpoints.giveUp(record);
      throw thrown;
    }
    let done: Awaited<ReturnType<typeof action>>;
    try {
      done = await action(updating);
    } catch (thrown) {
      await this.#restores.goBack(updating, safety, thrown);
      throw thrown;
    }
    const { result, entry } = done;
    const kept: readonly StoreChange[] =
      entry === undefined
        ? dropped([safety])
        : [
            ...(await this.#checkpoints.recorded(plan, record)),
            history.entry(plan.id, "checkpoint", { checkpoint: record.id, before }),
            entry,
          ];
    await store.write([...kept, planMoved(updating, "open")], "durable");
    await sandboxes.checkpoints.drop(plan.id);
    return { result, ...(entry !== undefined && { checkpoint: record.id }) };
  }
}
