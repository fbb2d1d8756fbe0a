import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SandboxStateError } from "./errors/errors.ts";
import {
  moveSandbox,
  SANDBOX_MOVES,
  SANDBOX_STATES,
  type SandboxState,
  USABLE_STATES,
} from "./sandbox-states.ts";

const PAIRS = SANDBOX_STATES.flatMap((from) => SANDBOX_STATES.map((to) => [from, to] as const));

describe("the states of a sandbox", () => {
  it("[L1] allow every move of the table, and staying where one is", () => {
    for (const [from, to] of PAIRS) {
      if (from === to || SANDBOX_MOVES[from].includes(to)) assert.equal(moveSandbox("s", from, to), to);
    }
  });

  it("[L1] refuse every other move by an error that names the sandbox, both states and what is possible", () => {
    for (const [from, to] of PAIRS) {
      if (from === to || SANDBOX_MOVES[from].includes(to)) continue;
      assert.throws(
        () => moveSandbox("the-sandbox", from, to),
        (thrown) => {
          assert.ok(thrown instanceof SandboxStateError);
          assert.deepEqual([thrown.from, thrown.to, thrown.code], [from, to, "SANDBOX_STATE"]);
          for (const part of ["the-sandbox", from, to])
            assert.ok(thrown.message.includes(part), thrown.message);
          for (const possible of SANDBOX_MOVES[from]) assert.ok(thrown.hint.includes(possible), thrown.hint);
          return true;
        },
      );
    }
  });

  it("[L1] end in one that nothing leaves, and which can be reached from every other", () => {
    assert.deepEqual(SANDBOX_MOVES.CLEANED_UP, []);
    const reach = (from: SandboxState, seen = new Set<SandboxState>()): Set<SandboxState> => {
      if (seen.has(from)) return seen;
      seen.add(from);
      for (const to of SANDBOX_MOVES[from]) reach(to, seen);
      return seen;
    };
    for (const state of SANDBOX_STATES) assert.ok(reach(state).has("CLEANED_UP"), state);
  });

  it("[L1] are frozen while prepared: it lands, is taken back or fails, and is not used or removed meanwhile", () => {
    assert.deepEqual([...SANDBOX_MOVES.PREPARED].sort(), ["ACTIVE", "COMMITTED", "ERRORED"]);
    assert.equal(USABLE_STATES.includes("PREPARED"), false);
  });

  it("[L2] let a sandbox be used again after a rollback", () => {
    assert.ok(USABLE_STATES.includes("ROLLED_BACK"));
    assert.equal(moveSandbox("s", "ROLLED_BACK", "ACTIVE"), "ACTIVE");
  });

  it("[L1] are usable only where work can't be lost by it", () => {
    assert.deepEqual([...USABLE_STATES].sort(), ["ACTIVE", "COMMITTED", "CREATED", "ROLLED_BACK"]);
  });
});
