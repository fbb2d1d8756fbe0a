import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  irreversibleIn,
  isUnfinished,
  landingsAmong,
  type Participant,
  type TransactionPhase,
  type TransactionRecord,
} from "./transaction.ts";

function transaction(facts: Partial<TransactionRecord>): TransactionRecord {
  return {
    id: "t",
    planId: "p",
    direction: "commit",
    owner: { id: "o", host: "h", bootId: "b", pid: 1, startTime: "1", command: "test" },
    startedAt: "2026-01-01T00:00:00.000Z",
    phase: "done",
    participants: [],
    ...facts,
  };
}

function participant(resource: string, vote: Partial<Participant>): Participant {
  const ref = { sandboxId: resource, planId: "p", resourceId: resource, strategyName: "any", metadata: {} };
  return { ref, resource, kind: "two-phase", status: "committed", ...vote };
}

describe("transactions", () => {
  it("are unfinished until they are done or aborted", () => {
    const phases: readonly TransactionPhase[] = ["preparing", "landing", "landed", "aborting", "in-doubt"];
    for (const phase of phases) assert.ok(isUnfinished(transaction({ phase })), phase);
    for (const phase of ["done", "aborted"] as const) assert.ok(!isUnfinished(transaction({ phase })), phase);
  });

  it("are landings while what they landed is there, though it can't be undone any more", () => {
    const all = [
      transaction({ id: "first" }),
      transaction({ id: "taken back", undoRecord: "used" }),
      transaction({ id: "undo", direction: "undo" }),
      transaction({ id: "failed", phase: "aborted" }),
      transaction({ id: "too old", undoRecord: "discarded" }),
      transaction({ id: "last", phase: "landed" }),
    ];
    assert.deepEqual(
      landingsAmong(all).map(({ id }) => id),
      ["first", "too old", "last"],
    );
  });

  it("can't be undone because of what landed for good, or is worked on in place", () => {
    const idle = participant("idle", { kind: "irreversible", status: "unchanged" });
    const two = participant("two", {});
    const inPlace = participant("in place", { kind: "in-place", status: "waiting" });
    const final = participant("final", { isFinal: true });
    const sent = participant("sent", { kind: "irreversible" });
    const because = (...participants: readonly Participant[]) =>
      irreversibleIn(transaction({ participants }))[0]?.resource;
    assert.equal(because(two, idle), undefined);
    assert.equal(because(two, final), "final");
    assert.equal(because(two, sent), "sent");
    assert.equal(because(two, inPlace), "in place");
  });
});
