import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TransactionRecord } from "../../core/transaction.ts";
import { type Answer, type Call, CONTRACT } from "./call.ts";
import { admit, noteBeforeLook, ran } from "./gate.ts";
import type { Look, Question } from "./gate-checks.ts";
import { answered, begun, type Note, released } from "./note.ts";
import type { TransactionRow } from "./transaction-row.ts";

const driver = { host: "app1", epoch: 1, process: "p" };

function call(facts: Partial<Call> = {}): Call {
  return {
    work: "t",
    scope: "transaction",
    direction: "commit",
    plan: "plan",
    sandbox: "s",
    original: "web1:/srv/app",
    host: "web1",
    kind: "two-phase",
    method: "prepare",
    attempt: 1,
    sender: driver,
    deadline: 100,
    contract: CONTRACT,
    ...facts,
  };
}

function row(
  facts: Partial<TransactionRow> & { readonly phase?: TransactionRecord["phase"] } = {},
): TransactionRow {
  const { phase = "preparing", ...rest } = facts;
  const owner = { id: "o", host: "h", bootId: "b", pid: 1, startTime: "1", command: "test" };
  const record: TransactionRecord = {
    id: "t",
    planId: "plan",
    direction: "commit",
    owner,
    startedAt: "2026-01-01T00:00:00.000Z",
    phase,
    participants: [],
  };
  return { record, version: 1, driver, ...rest };
}

function question(
  asked: Call,
  note: Note | undefined,
  look: Partial<Look> = {},
  more: Partial<Question> = {},
) {
  const said: Look = { now: 50, row: row(), claimant: undefined, over: new Set(), ...look };
  return { call: asked, note, isNotedFirst: false, holders: [], look: said, contracts: [CONTRACT], ...more };
}

function refusal(asked: Question): string | undefined {
  const admission = admit(asked);
  if (admission.do === "run") return undefined;
  return admission.answer.said === "refused" ? admission.answer.why : admission.answer.said;
}

const prepared: Answer = { said: "prepared", prepared: { changes: 1, data: {} } };
const committed: Answer = { said: "committed", changes: 3, attention: [] };
const takenBack: Answer = { said: "taken-back", attention: [] };
const landing = { row: row({ phase: "landing", decision: "land" }) };
const givenUp = { row: row({ phase: "aborting", decision: "give-up" }) };

const hasPrepared = ran(begun(undefined, call()), call(), prepared).note;
const hasLanded = answered(hasPrepared, call({ method: "commitPrepared" }), committed);
const hasTakenBack = answered(hasPrepared, call({ method: "rollbackPrepared" }), takenBack);

describe("the gate of a host", () => {
  it("prepares while nothing is decided, and has noted that before", () => {
    const admission = admit(question(call(), undefined));
    assert.equal(admission.do, "run");
    assert.equal(admission.note?.state, "preparing");
  });

  it("begins nothing once there is a decision, whatever it says", () => {
    for (const method of ["prepare", "checkpoint", "commit"] as const)
      for (const look of [landing, givenUp])
        assert.equal(refusal(question(call({ method }), undefined, look)), "decided", method);
  });

  it("lands only what is decided, and only while it is not given up", () => {
    const land = call({ method: "commitPrepared" });
    assert.equal(refusal(question(land, hasPrepared)), "undecided");
    assert.equal(refusal(question(land, hasPrepared, landing)), undefined);
    const second = { row: row({ phase: "landing", decision: "land", givenUp: true }) };
    assert.equal(refusal(question(land, hasPrepared, second)), "given-up");
  });

  it("takes back only what is given up, before or after the decision", () => {
    const back = call({ method: "rollbackPrepared" });
    assert.equal(refusal(question(back, hasPrepared)), "undecided");
    assert.equal(refusal(question(back, hasPrepared, landing)), "undecided");
    assert.equal(refusal(question(back, hasPrepared, givenUp)), undefined);
    const second = { row: row({ phase: "landing", decision: "land", givenUp: true }) };
    assert.equal(refusal(question(back, hasLanded, second)), undefined);
  });

  it("answers everything from the note once it has ended", () => {
    const land = call({ method: "commitPrepared", attempt: 2 });
    const back = call({ method: "rollbackPrepared", attempt: 2 });
    assert.deepEqual(admit(question(land, hasLanded, landing)), { do: "answer", answer: committed });
    assert.equal(refusal(question(land, hasTakenBack, landing)), "ended");
    assert.equal(refusal(question(call({ attempt: 2 }), hasTakenBack)), "ended");
    assert.deepEqual(admit(question(back, hasTakenBack, givenUp)), { do: "answer", answer: takenBack });
    assert.equal(refusal(question(back, released(hasLanded), givenUp)), "ended");
  });

  it("answers a repeated call as before, and a new attempt by trying again", () => {
    const land = call({ method: "commitPrepared" });
    const failed: Answer = { said: "failed", message: "no space left" };
    const note = answered(hasPrepared, land, failed);
    assert.deepEqual(admit(question(land, note, landing)), { do: "answer", answer: failed });
    assert.equal(admit(question({ ...land, attempt: 2 }, note, landing)).do, "run");
  });

  it("refuses after the deadline by the clock of the database, other versions, and what is over", () => {
    assert.equal(refusal(question(call(), undefined, { now: 101 })), "late");
    assert.equal(refusal(question(call({ contract: 2 }), undefined)), "contract");
    assert.equal(refusal(question(call(), undefined, { row: undefined })), "over");
    assert.equal(refusal(question(call(), undefined, { row: row({ phase: "done" }) })), "over");
  });

  it("lets nobody else begin on an original that a transaction holds, landed there or not", () => {
    const other = call({ work: "u", sandbox: "other" });
    const busy = (holder: Note, over: readonly string[]) =>
      refusal(question(other, undefined, { over: new Set(over) }, { holders: [holder] }));
    assert.equal(busy(hasPrepared, []), "busy");
    assert.equal(busy(hasLanded, []), "busy");
    assert.equal(busy(hasLanded, ["t"]), undefined);
  });
});

describe("a commit that can't be taken back", () => {
  const commit = call({ kind: "irreversible", method: "commit" });
  const ask = call({ kind: "irreversible", method: "ask" });
  const noted = noteBeforeLook(undefined, commit);

  it("is noted before the look, and runs once", () => {
    assert.equal(noted?.state, "committing");
    assert.equal(admit(question(commit, noted, {}, { isNotedFirst: true })).do, "run");
    // Another process finds only that it began.
    assert.equal(noteBeforeLook(noted, commit), undefined);
    assert.equal(refusal(question(commit, noted)), "in-doubt");
    const after = answered(noted, commit, committed);
    assert.deepEqual(admit(question({ ...commit, attempt: 2 }, after)), { do: "answer", answer: committed });
  });

  it("never begins after its host was asked and had not begun", () => {
    const asked = admit(question(ask, undefined));
    assert.equal(asked.do === "answer" && asked.answer.said, "never-ran");
    assert.equal(refusal(question(commit, asked.note)), "ended");
  });

  it("never begins after it was refused", () => {
    const late = admit(question(commit, noted, { now: 101 }, { isNotedFirst: true }));
    assert.equal(late.note?.state, "never-ran");
    assert.equal(refusal(question({ ...commit, attempt: 2, deadline: 200 }, late.note)), "ended");
  });
});

describe("a call outside of a transaction", () => {
  const change = call({ work: "o", scope: "operation", method: "change" });

  it("runs only while its operation holds the plan", () => {
    assert.equal(refusal(question(change, undefined, { claimant: "t" })), "no-claim");
    assert.equal(refusal(question(change, undefined, { claimant: "o" })), undefined);
  });

  it("never runs after it was refused, because its user was told that nothing happened", () => {
    const refused = admit(question(change, undefined, { claimant: "t" }));
    assert.equal(refusal(question(change, refused.note, { claimant: "o" })), "no-claim");
  });

  it("is in doubt if it has begun before and may not go on", () => {
    assert.equal(refusal(question(change, begun(undefined, change), { claimant: "t" })), "in-doubt");
  });
});
