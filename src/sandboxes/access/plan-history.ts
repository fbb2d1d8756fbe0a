import type { EventDetails, EventName } from "../../core/values/plan-events.ts";
import type { Store, StoreChange } from "../../store/store.ts";

/** Writes the histories of plans, in the name of this process. */
export class PlanHistory {
  readonly #store: Store;
  readonly #now: () => Date;
  /** "name@host" of the user in whose name this process writes. */
  readonly actor: string;

  constructor(store: Store, now: () => Date, actor: string) {
    this.#store = store;
    this.#now = now;
    this.actor = actor;
  }

  /** An entry, to be written together with the change that it describes. */
  entry<Name extends EventName>(
    planId: string,
    event: Name,
    details: EventDetails[Name],
  ): Extract<StoreChange, { readonly put: "history" }> {
    const record = {
      planId,
      at: this.#now().toISOString(),
      actor: this.actor,
      pid: process.pid,
      event,
      details,
    };
    return { put: "history", record };
  }

  /** Whether a plan was given up. It ends as applied if parts of it had landed. */
  async wasCancelled(planId: string): Promise<boolean> {
    return (await this.#store.lastEntry(planId, ["cancelled"])) !== undefined;
  }

  /** Writes an entry alone. */
  async note<Name extends EventName>(
    planId: string,
    event: Name,
    details: EventDetails[Name],
  ): Promise<void> {
    await this.#store.write([this.entry(planId, event, details)], "ordered");
  }
}
