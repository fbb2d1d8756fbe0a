import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { advance, nextEffect } from "./commit-machine.ts";
import type { Participant, TransactionPhase, TransactionRecord } from "./transaction.ts";

type Vote = Pick<Participant, "kind" | "status">;

function record(phase: TransactionPhase, votes: readonly Vote[]): TransactionRecord {
  return {
    id: "t",
    planId: "p",
    direction: "commit",
    owner: { id: "o", host: "h", bootId: "b", pid: 1, startTime: "1", command: "test" },
    startedAt: "2026-01-01T00:00:00.000Z",
    phase,
    participants: votes.map((vote, index) => ({
      ref: {
        sandboxId: `s${index}`,
        planId: "p",
        resourceId: `r${index}`,
        strategyName: "any",
        metadata: {},
      },
      resource: `r${index}`,
      ...vote,
    })),
  };
}

const staged: Vote = { kind: "two-phase", status: "prepared" };
const landed: Vote = { kind: "two-phase", status: "committed" };
const unchanged: Vote = { kind: "two-phase", status: "unchanged" };

describe("the batches of the commit machine", () => {
  it("lands all that are prepared, in their order, and nothing else", () => {
    const inPlace: Vote = { kind: "in-place", status: "waiting" };
    const now = record("landing", [staged, unchanged, staged, landed, inPlace]);
    assert.deepEqual(nextEffect(now), { do: "land", indexes: [0, 2] });
  });

  it("finishes when nothing is left to land", () => {
    assert.deepEqual(nextEffect(record("landing", [landed, unchanged])), { do: "finish" });
  });

  it("takes back in reverse, also what may only have begun", () => {
    const now = record("aborting", [
      staged,
      { kind: "two-phase", status: "waiting" },
      unchanged,
      { kind: "reversible", status: "committed" },
      { kind: "reversible", status: "started" },
      { kind: "reversible", status: "waiting" },
      { kind: "irreversible", status: "not-undone" },
    ]);
    assert.deepEqual(nextEffect(now), { do: "take-back", indexes: [4, 3, 2, 1, 0] });
  });

  it("keeps in the next batch what failed in this one, and drops what is reported", () => {
    let now = record("landing", [staged, staged, staged]);
    const committed = { was: "committed", changes: 1, attention: [] } as const;
    now = advance(now, { ...committed, index: 0 });
    now = advance(now, { ...committed, index: 2 });
    assert.deepEqual(nextEffect(now), { do: "land", indexes: [1] });
    assert.deepEqual(nextEffect(advance(now, { ...committed, index: 1 })), { do: "finish" });
  });

  it("aborts once each is taken back or known to stay", () => {
    let now = record("aborting", [staged, { kind: "reversible", status: "committed" }]);
    now = advance(now, { was: "not-taken-back", index: 1, message: "it stays" });
    assert.deepEqual(nextEffect(now), { do: "take-back", indexes: [0] });
    now = advance(now, { was: "taken-back", index: 0, attention: [] });
    assert.deepEqual(nextEffect(now), { do: "abort" });
  });

  it("says nothing to do where only a person can go on", () => {
    assert.equal(nextEffect(record("in-doubt", [{ kind: "irreversible", status: "started" }])), undefined);
  });

  it("takes everything back where a commit was to start that never began, and leaves no doubt", () => {
    const now = record("preparing", [staged, { kind: "irreversible", status: "started" }]);
    assert.equal(advance(now, { was: "recovered" }).phase, "in-doubt");
    const after = advance(advance(now, { was: "not-begun", index: 1 }), { was: "recovered" });
    assert.equal(after.phase, "aborting");
    assert.deepEqual(
      after.participants.map(({ status }) => status),
      ["prepared", "waiting"],
    );
  });
});
