import { describe, it } from "node:test";
import { disturb } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import { applyHunks } from "./hunk-scenarios.ts";
import { partScenarios } from "./part-scenarios.ts";
import { recoveryAfter } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
const SMALL: WorldOptions = { ...COPY, isSmall: true };
/** What only landing a part does, and its last flush; the rest is tried with whole plans. */
const OWN = /^(?:part|left|copy\.baseline|record\.flush|landings\.flush-landed)/;

describe("SIGKILL at the failpoints of landing a part", () => {
  const small = partScenarios(SMALL);
  it("[A3][A7][A17] a crash leaves every original as before or with the part, and the rest in the plan", (t) =>
    disturb(t, small.applyPart, SMALL, { at: OWN }));
  const { applyPart } = partScenarios(COPY);
  it("[A3][A7][A17] so it does with everything that can be in a folder", (t) =>
    disturb(t, applyPart, COPY, { at: OWN }));
  it("[A3][A17] a crash in the undo of a part leaves it landed everywhere or nowhere, and the work in the plan", (t) =>
    disturb(t, small.undoPart, SMALL, { at: /^(?:part|left|copy\.baseline|landings)/ }));
  it("[A3][A17] a crash in the recovery from a crash is just another crash", (t) =>
    disturb(t, recoveryAfter(small.applyPart, "copy.baseline:1=kill"), SMALL, {
      at: /^(?:part|copy\.baseline)/,
    }));
});

describe("SIGKILL at the failpoints of landing hunks", () => {
  it("[A3][A17] a crash leaves every original as before or with the approved hunks, and the others in the plan", (t) =>
    disturb(t, applyHunks, SMALL, { at: /^(?:stage\.(?:create|write)-hunks|stage\.hunks|part|copy\.base)/ }));
});

describe("an error at the failpoints of landing a part", () => {
  const { applyPart } = partScenarios(SMALL);
  it("[A1][A5][A7] all of the part or nothing, and the rest in the plan", (t) =>
    disturb(t, applyPart, SMALL, { by: errorCases, at: /^(?:part|left)/, some: 3 }));
});
