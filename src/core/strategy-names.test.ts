import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withDefaults } from "./capabilities.ts";
import { BUILT_IN_STRATEGY_NAMES, builtInStrength } from "./strategy-names.ts";

describe("the names of the built-in strategies", () => {
  it("[S6] are seven, each once, in words that a config can hold", () => {
    assert.equal(new Set(BUILT_IN_STRATEGY_NAMES).size, 7);
    for (const name of BUILT_IN_STRATEGY_NAMES) assert.match(name, /^[a-z]+(?:_[a-z]+)*$/);
  });

  it("[S8] stand in the order of their strength, which is total", () => {
    const strengths = BUILT_IN_STRATEGY_NAMES.map(builtInStrength);
    assert.deepEqual(strengths, [60, 50, 40, 30, 20, 10, 0]);
    assert.equal(builtInStrength("none"), 0);
  });

  it("[S8] leave room between any two for a strategy of somebody else, whose default is above none and below all others", () => {
    const { strength } = withDefaults({ commit: "one-phase" });
    const above = BUILT_IN_STRATEGY_NAMES.filter((name) => builtInStrength(name) > strength);
    assert.deepEqual(above, BUILT_IN_STRATEGY_NAMES.slice(0, -1));
  });
});

describe("the capabilities of a strategy", () => {
  it("[S7] have a default for everything but how it commits", () => {
    assert.deepEqual(withDefaults({ commit: "one-phase" }), {
      commit: "one-phase",
      undo: false,
      partial: false,
      checkpoint: true,
      whileRunning: [],
      isolation: "copy",
      strength: 5,
      resourceTypes: "all",
      leavesOut: false,
      loses: [],
      heldTransaction: false,
    });
  });

  it("[S7] have undo by default where there are two phases, and only there", () => {
    assert.equal(withDefaults({ commit: "two-phase" }).undo, true);
    assert.equal(withDefaults({ commit: "in-place" }).undo, false);
  });

  it("[S7] are kept where they are declared", () => {
    const declared = {
      commit: "two-phase",
      undo: false,
      partial: true,
      checkpoint: false,
      whileRunning: ["apply"],
      isolation: "view",
      strength: 0,
      resourceTypes: ["fs-file"],
      leavesOut: true,
      loses: ["holes"],
      heldTransaction: true,
    } as const;
    assert.deepEqual(withDefaults(declared), declared);
  });
});
