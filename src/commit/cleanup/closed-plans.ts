import { messageOf } from "../../core/errors/errors.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { UndiscardedRecord } from "./undo-retention.ts";

/** A start pays for few old plans, however many there are. */
const MOST_AT_ONCE = 20;

/**
 * Lets the records of closed plans go, with their history, once nothing has happened to them for the time
 * that the settings say. A plan stays as long as it can be undone, has a sandbox or a place in the world, or
 * a transaction that is not over. One write drops everything of a plan; a failure does not stop the others.
 */
export class ClosedPlans {
  readonly #session: PlanSession;

  constructor(session: PlanSession) {
    this.#session = session;
  }

  async run(): Promise<readonly UndiscardedRecord[]> {
    const { store, plans, settings, now } = this.#session;
    const failed: UndiscardedRecord[] = [];
    const oldest = new Date(now().getTime() - settings.closedPlans.keepMilliseconds).toISOString();
    for (const planId of await store.closedPlanIds(oldest, MOST_AT_ONCE)) {
      try {
        await plans.ifFree(planId, () => store.write([{ drop: "plan", planId }], "ordered"));
      } catch (thrown) {
        failed.push({ planId, why: `its record could not be removed: ${messageOf(thrown)}` });
      }
    }
    return failed;
  }
}
