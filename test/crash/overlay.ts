import { type OverlayRun, runOverlay } from "../support/overlay-runs.ts";
import type { OverlayTrial, TrialOutcome } from "./overlay-run.ts";
import { builtDriver } from "./run-driver.ts";

/** Tries something with `overlay` in a process that can mount it in this way. */
export async function tryOverlay(run: OverlayRun, trial: OverlayTrial): Promise<TrialOutcome> {
  const environment = { DRYDOCK_TEST_DRIVER: await builtDriver() };
  const said = await runOverlay(run, "test/crash/overlay-run.ts", [JSON.stringify(trial)], environment);
  return JSON.parse(said) as TrialOutcome;
}
