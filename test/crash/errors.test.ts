import { describe, it } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { disturb } from "./disturb.ts";
import { errorCases, lastingErrorCases } from "./error-cases.ts";
import { BEYOND_ENTRY, spread } from "./points.ts";
import { apply, cancel, create, rollback, undo } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
const SMALL: WorldOptions = { ...COPY, isSmall: true };

/** An error at the points, and, where most is at stake, at all passes of some; of each in a long run. */
const errors: typeof errorCases = (scenario, points) => {
  const repeated = points.filter(({ pass }) => pass > 1);
  const lasting = IS_LONG || scenario === apply ? spread(repeated, 3) : [];
  return [...errorCases(scenario, points), ...lastingErrorCases(scenario, lasting)];
};
const INNER = { at: BEYOND_ENTRY };

describe("an error at every failpoint", () => {
  it("[A1][A2][A4][A5][A7] in apply: all or nothing, and its report is true", (t) =>
    disturb(t, apply, COPY, { by: errors, some: 15 }));
  it("[A1][A2][A5] in undo: all or nothing", (t) =>
    disturb(t, undo, SMALL, { by: errors, ...INNER, some: 8 }));
  it("[A1][C2] in create: a whole plan or none", (t) => disturb(t, create, SMALL, { by: errors, some: 8 }));
  it("[A5][L4] in rollback: the plan stays open", (t) =>
    disturb(t, rollback, SMALL, { by: errors, ...INNER }));
  it("[A5][C2] in cancel: the plan stays, or goes", (t) =>
    disturb(t, cancel, SMALL, { by: errors, ...INNER }));
});
