import { setTimeout as sleep } from "node:timers/promises";
import { BusyError } from "../../core/errors/errors.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { isListening } from "../../plans/history/detached-command.ts";
import type { Uses } from "../../sandboxes/remains/uses.ts";
import { milliseconds } from "../../system/milliseconds.ts";

/** How long the process that kept the last command may take for what comes after the command. */
const PATIENCE_MS = 10_000;
const LOOK_AGAIN_MS = 20;

/**
 * Waits until no process listens for the last detached command of a plan, if that has ended: the next one
 * listens at the same socket. The claim of the plan is free meanwhile, as that process may need it.
 */
export async function lastKeeperGone(stateDir: string, { id, name }: PlanRecord, uses: Uses): Promise<void> {
  const until = milliseconds() + PATIENCE_MS;
  // One that runs is refused later, by its name.
  while (uses.detached(id) === undefined && (await isListening(stateDir, id))) {
    if (milliseconds() > until)
      throw new BusyError(
        `The last detached command of the plan ${name} has ended, but not the process that kept it.`,
        { holder: "the process that kept the command", hint: "It may be landing the plan. Try again later." },
      );
    await sleep(LOOK_AGAIN_MS);
  }
}
