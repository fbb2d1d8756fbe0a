import { describe, it } from "node:test";
import { itInLongForm } from "../support/long-form.ts";
import { restorePlan, savePlan } from "./checkpoint-scenarios.ts";
import { disturb } from "./disturb.ts";
import { errorCases, lastingErrorCases } from "./error-cases.ts";
import { BEYOND_ENTRY, spread } from "./points.ts";
import { recoveryAfter } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
const SMALL: WorldOptions = { ...COPY, isSmall: true };

const OWN = /^(?:checkpoint|restore|copy)\./;

const INNER = { at: BEYOND_ENTRY };

/** An error once at each point, and at all passes of some that are its own; of each in a long run. */
const errors: typeof errorCases = (scenario, points) => [
  ...errorCases(scenario, points),
  ...lastingErrorCases(
    scenario,
    spread(
      points.filter(({ name, pass }) => OWN.test(name) && pass > 1),
      1,
    ),
  ),
];

describe("SIGKILL at every failpoint, in checkpoints of plans", () => {
  it("[C2][C7][A17] a crash in checkpoint leaves a whole one or none, and the work as it was", (t) =>
    disturb(t, savePlan, COPY, { ...INNER, own: /^checkpoint\./, some: 4 }));
  it("[C6][C7][A17] a crash in restore leaves all sandboxes at the checkpoint, or none", (t) =>
    disturb(t, restorePlan, COPY, { ...INNER, own: /^(?:checkpoint|restore)\./, some: 3 }));
  for (const failpoints of ["restore.remove:2=kill", "checkpoint.end-restore:2=kill"])
    itInLongForm(
      `[C6][A17] a crash in the recovery from a crash in restore (${failpoints}) is just another crash`,
      (t) => disturb(t, recoveryAfter(restorePlan, failpoints), COPY, { at: OWN }),
    );
});

describe("an error at every failpoint, in checkpoints of plans", () => {
  it("[A5][C7] in checkpoint: a whole one or none, and the work as it was", (t) =>
    disturb(t, savePlan, SMALL, { by: errors, ...INNER, some: 4 }));
  it("[A5][C6] in restore: all sandboxes at the checkpoint, or none", (t) =>
    disturb(t, restorePlan, SMALL, { by: errors, at: OWN, some: 4 }));
});
