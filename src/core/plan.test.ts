import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PlanStateError } from "./errors/errors.ts";
import { movePlan, PLAN_STATES, type PlanRecord, type PlanState } from "./plan.ts";

const LEGAL: readonly (readonly [PlanState, PlanState])[] = [
  ["creating", "open"],
  ["creating", "closing"],
  ["open", "adding"],
  ["open", "restoring"],
  ["open", "updating"],
  ["open", "applying"],
  ["open", "undoing"],
  ["open", "closing"],
  ["adding", "open"],
  ["adding", "closing"],
  ["restoring", "open"],
  ["restoring", "closing"],
  ["updating", "open"],
  ["updating", "closing"],
  ["applying", "open"],
  ["applying", "applied"],
  ["applied", "undoing"],
  ["undoing", "open"],
  ["undoing", "applied"],
  ["undoing", "undone"],
  ["closing", "applied"],
  ["closing", "cancelled"],
  ["creating", "abandoned"],
  ["open", "abandoned"],
  ["adding", "abandoned"],
  ["restoring", "abandoned"],
  ["updating", "abandoned"],
  ["applying", "abandoned"],
  ["undoing", "abandoned"],
  ["closing", "abandoned"],
];

const plan = (state: PlanState): PlanRecord => {
  return {
    id: "01ID",
    name: "fix",
    state,
    readOnly: false,
    allowIrreversible: false,
    createdAt: "2026-01-01T00:00:00.000Z",
    resources: [],
  };
};
const isLegal = (from: PlanState, to: PlanState) => LEGAL.some(([a, b]) => a === from && b === to);

describe("the states of a plan", () => {
  it("allow the moves of a plan's life", () => {
    for (const [from, to] of LEGAL) assert.equal(movePlan(plan(from), to), to);
  });

  it("refuse every other move by an error that names the plan and both states", () => {
    for (const from of PLAN_STATES) {
      for (const to of PLAN_STATES.filter((state) => !isLegal(from, state))) {
        assert.throws(
          () => movePlan(plan(from), to),
          (thrown) => {
            assert.ok(thrown instanceof PlanStateError);
            for (const part of ["fix", "01ID", from, to])
              assert.ok(thrown.message.includes(part), thrown.message);
            assert.deepEqual(thrown.details, { state: from, to });
            return true;
          },
        );
      }
    }
  });

  it("let nothing be done to a plan that is over", () => {
    for (const state of ["undone", "cancelled", "abandoned"] as const) {
      for (const to of PLAN_STATES) assert.equal(isLegal(state, to), false);
    }
  });
});
