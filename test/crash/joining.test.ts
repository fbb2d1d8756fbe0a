import { describe, it } from "node:test";
import { disturb } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import { add } from "./joining-scenarios.ts";
import { recoveryAfter } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy", isSmall: true };
const OVERLAY: WorldOptions = { strategy: "overlay", isSmall: true };
/** What only an add does, and the first steps of what a create does too. */
const OWN =
  /^(?:entry|scratch|store|intent|workspace|overlay\.(?:mark-entered|mark-left|hide|place|make-white))/;

describe("SIGKILL at the failpoints of adding a resource to a plan", () => {
  for (const options of [COPY, OVERLAY])
    it(`[W6] with ${String(options.strategy)}: the resource has joined with what was written there, or the plan is as before`, (t) =>
      disturb(t, add, options, { at: OWN, own: /^(?:entry|scratch|overlay)/, some: 3 }));
  it("[W6] a crash in the recovery from a crash is just another crash", (t) =>
    disturb(t, recoveryAfter(add, "entry.take-metadata:1=kill"), COPY, {
      at: /^(?:store|workspace|scratch)/,
    }));
});

describe("an error at the failpoints of adding a resource to a plan", () => {
  it("[W6] takes everything back", (t) =>
    disturb(t, add, OVERLAY, {
      by: errorCases,
      at: /^(?:entry|overlay\.(?:place|hide|mark-left))/,
      some: 2,
    }));
});
