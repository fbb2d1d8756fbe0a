import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Participant, TransactionRecord } from "../../core/transaction.ts";
import { keepsCancelled, keepsLanded, staysBehind } from "./cleanup-policy.ts";

function participant(vote: Partial<Participant> = {}): Participant {
  const ref = { sandboxId: "s", planId: "p", resourceId: "r", strategyName: "any", metadata: {} };
  return { ref, resource: "app", kind: "two-phase", status: "committed", ...vote };
}

function landed(facts: Partial<TransactionRecord> = {}): TransactionRecord {
  return {
    id: "t",
    planId: "p",
    direction: "commit",
    owner: { id: "o", host: "h", bootId: "b", pid: 1, startTime: "1", command: "test" },
    startedAt: "2026-01-01T00:00:00.000Z",
    phase: "landed",
    participants: [participant()],
    ...facts,
  };
}

describe("sandboxes after a landing", () => {
  it("stay with manual, and go with every other policy unless an undo needs them", () => {
    assert.equal(keepsLanded("manual", landed()), true);
    assert.equal(keepsLanded("on_apply", landed()), false);
    assert.equal(keepsLanded("on_terminal", landed()), true);
  });

  it("stay in a plan that stays open, whatever the policy", () => {
    for (const policy of ["on_apply", "on_terminal", "manual"] as const)
      for (const direction of ["commit", "undo"] as const)
        assert.equal(keepsLanded(policy, landed({ direction, staysIn: "open" })), true);
  });

  it("go with on_terminal when the plan can't be undone, or was undone as a whole", () => {
    const final = landed({ participants: [participant({ isFinal: true })] });
    assert.equal(keepsLanded("on_terminal", final), false);
    const mixed = landed({ participants: [participant(), participant({ isFinal: true })] });
    assert.equal(keepsLanded("on_terminal", mixed), true, "the rest can be undone");
    const inPlace = landed({ participants: [participant({ kind: "in-place", status: "waiting" })] });
    assert.equal(keepsLanded("on_terminal", inPlace), false);
    assert.equal(keepsLanded("on_terminal", landed({ direction: "undo" })), false);
  });

  it("stay with on_terminal when a participant that could not be undone had nothing to land", () => {
    const idle = participant({ kind: "irreversible", status: "unchanged" });
    assert.equal(keepsLanded("on_terminal", landed({ participants: [participant(), idle] })), true);
  });

  it("stay with on_terminal while earlier parts can still be undone", () => {
    assert.equal(keepsLanded("on_terminal", landed({ direction: "undo", staysIn: "applied" })), true);
    assert.equal(keepsLanded("on_apply", landed({ direction: "undo", staysIn: "applied" })), false);
  });
});

describe("sandboxes of a cancelled plan", () => {
  const whole = { isWhole: true, hasSecrets: false, holdsTransaction: false };

  it("stay with manual only", () => {
    assert.equal(keepsCancelled("manual", whole), true);
    assert.equal(keepsCancelled("on_apply", whole), false);
    assert.equal(keepsCancelled("on_terminal", whole), false);
  });

  it("go even then if they were never whole, need a password, or hold a transaction", () => {
    assert.equal(keepsCancelled("manual", { ...whole, isWhole: false }), false);
    assert.equal(keepsCancelled("manual", { ...whole, hasSecrets: true }), false);
    assert.equal(keepsCancelled("manual", { ...whole, holdsTransaction: true }), false);
  });
});

describe("what stays where a sandbox was", () => {
  it("is the undo record of a commit", () => {
    assert.equal(staysBehind(landed(), participant()), "undo record");
    assert.equal(staysBehind(landed(), participant({ kind: "reversible" })), "undo record");
  });

  it("is nothing where there is none", () => {
    assert.equal(staysBehind(landed(), participant({ status: "unchanged" })), "nothing");
    assert.equal(staysBehind(landed(), participant({ kind: "irreversible" })), "nothing");
    assert.equal(staysBehind(landed(), participant({ isFinal: true })), "nothing");
    assert.equal(staysBehind(landed({ direction: "undo" }), participant()), "nothing");
  });

  it("is what another writer had made, also after an undo", () => {
    const attention = [{ path: "a.txt", message: "changed meanwhile", keptAt: "/kept/a.txt" }];
    assert.equal(staysBehind(landed({ direction: "undo" }), participant({ attention })), "undo record");
    assert.equal(staysBehind(landed(), participant({ isFinal: true, attention })), "undo record");
    const onlySaid = [{ path: "a.txt", message: "changed meanwhile" }];
    assert.equal(staysBehind(landed({ direction: "undo" }), participant({ attention: onlySaid })), "nothing");
  });
});
