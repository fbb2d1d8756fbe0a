import type { SandboxRecord } from "../core/sandbox.ts";
import { moveSandbox } from "../core/sandbox-states.ts";
import { findPlace, removeWorkspace } from "../engine/workspace/workspace.ts";
import type { StoreChange } from "../store/store.ts";
import type { GuardedStrategy } from "../strategies/custom/guarded-strategy.ts";
import type { Session } from "./access/session.ts";

/**
 * What stays in the places of a sandbox. `undo record`: what an undo needs, or changes of another writer, so
 * its places stay known as ours. `nothing`: its places are forgotten.
 */
export type StaysBehind = "undo record" | "nothing";

/**
 * Removes sandboxes. The strategy removes first, then the record changes: after a crash in between, the
 * strategy is called once more. Callers hold the plan's claim and know that the sandbox is not needed.
 */
export class SandboxRemoval {
  readonly #session: Session;
  readonly #strategy: (name: string) => GuardedStrategy;

  constructor(session: Session, strategy: (name: string) => GuardedStrategy) {
    this.#session = session;
    this.#strategy = strategy;
  }

  /** Removes a sandbox. If it is gone already, only forgets its places, unless something stays there. */
  async remove(record: SandboxRecord, keep: StaysBehind): Promise<void> {
    if (record.state !== "CLEANED_UP") await this.#removeAndRecord(record, keep);
    else if (keep === "nothing") await this.#session.store.write([withoutPlaces(record)], "ordered");
  }

  /**
   * Removes a sandbox and everything that a landing left in its folder, even if the sandbox is gone already.
   */
  async removeWhole(record: SandboxRecord): Promise<void> {
    const { stateDir } = this.#session;
    const { sandboxId } = record.ref;
    await this.#removeAndRecord(record, "nothing");
    const place = findPlace(stateDir, sandboxId);
    if (place !== undefined) removeWorkspace(stateDir, sandboxId, place);
  }

  async #removeAndRecord(record: SandboxRecord, keep: StaysBehind): Promise<void> {
    const state = moveSandbox(record.ref.sandboxId, record.state, "CLEANED_UP");
    await this.#strategy(record.ref.strategyName).cleanup(record.ref);
    const moved: StoreChange = { put: "sandbox", record: { ...record, state } };
    await this.#session.store.write(keep === "nothing" ? [moved, withoutPlaces(record)] : [moved], "ordered");
  }
}

function withoutPlaces({ ref }: SandboxRecord): StoreChange {
  return { drop: "intents", sandboxId: ref.sandboxId };
}
