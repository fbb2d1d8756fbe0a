import { hostname } from "node:os";
import type { FullCapabilities, RunningOperation } from "../../core/capabilities.ts";
import type { Owner } from "../../core/owner.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isProcessAlive } from "../../system/process/process-identity.ts";
import { inUse, type Use, type Uses } from "./uses.ts";

const POINTS = {
  guard: failpoint("hold.guard"),
  stop: failpoint("hold.stop"),
  wake: failpoint("hold.wake"),
};

const WORDS: { readonly [operation in RunningOperation]: string } = {
  checkpoint: "be saved",
  restore: "be restored",
  apply: "land",
};

/** The capabilities of all sandboxes of a plan, by the names of their resources. */
type CapabilitiesOf = (plan: PlanRecord) => Promise<ReadonlyMap<string, FullCapabilities>>;

/**
 * Makes the commands of a plan stand still while something is done to it, so that they can go on afterwards.
 * Callers hold the plan's claim, so no command begins meanwhile. The commands wake whatever happens: also
 * after an error, and when this process is killed (standstill/stop-guard.ts).
 */
export class CommandHold {
  readonly #uses: Uses;
  readonly #capabilitiesOf: CapabilitiesOf;
  readonly #held = new Set<string>();

  constructor(uses: Uses, capabilitiesOf: CapabilitiesOf) {
    this.#uses = uses;
    this.#capabilitiesOf = capabilitiesOf;
  }

  /** Whether all commands of the plan stand still. */
  isHeld(planId: string): boolean {
    return this.#held.has(planId);
  }

  /** Refuses, before a command is stopped, what one of the strategies can't do while commands run. */
  async during<T>(plan: PlanRecord, operation: RunningOperation, action: () => Promise<T>): Promise<T> {
    const uses = this.#uses.living(plan.id);
    const [first] = uses;
    if (first === undefined) return await action();
    for (const [resource, { whileRunning }] of await this.#capabilitiesOf(plan))
      if (!whileRunning.includes(operation))
        throw inUse(plan, first, `and ${resource} can't ${WORDS[operation]} meanwhile`);
    await using stopped = new AsyncDisposableStack();
    for (const anchor of uses.flatMap((use) => anchorOf(plan, use))) {
      // Loaded late: most plans have no running command.
      const { StoppedNamespace } = await import("../../system/standstill/stopped-namespace.ts");
      stopped.use(await StoppedNamespace.stop(POINTS, anchor));
    }
    this.#held.add(plan.id);
    try {
      return await action();
    } finally {
      this.#held.delete(plan.id);
    }
  }
}

/** The first process of a command's namespace; none if the command has just ended. */
function anchorOf(plan: PlanRecord, use: Use): readonly Owner[] {
  const { keeper: anchor } = use;
  if (anchor === undefined) throw inUse(plan, use, "without namespaces, so it can't be made to stand still");
  if (anchor.host !== hostname()) throw inUse(plan, use, `on ${anchor.host}`);
  return isProcessAlive(anchor) ? [anchor] : [];
}
