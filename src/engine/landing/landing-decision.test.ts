import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Facts } from "../../system/calls/facts.ts";
import { entryIdentity, type ManifestEntry } from "../manifest/manifest.ts";
import {
  type Deed,
  decide,
  inOriginal,
  inSlot,
  isDeed,
  type Occupant,
  type OthersRule,
  type Passage,
  passageOf,
  type Situation,
  type Verdict,
} from "./landing-decision.ts";

const KINDS: readonly Passage["kind"][] = ["replace", "bring-in", "take-out"];
const RULES: readonly OthersRule[] = ["set-aside", "leave", "restore"];
const FORWARD: readonly OthersRule[] = ["set-aside", "leave"];

/** What can be in a place of an entry of this kind. */
const OCCUPANTS: { readonly [kind in Passage["kind"]]: readonly Occupant[] } = {
  replace: ["nothing", "from", "touched", "to", "other"],
  "bring-in": ["nothing", "to", "other"],
  "take-out": ["nothing", "from", "touched", "other"],
};

/** Where an entry is at the start, with no other writer around. */
const START: { readonly [kind in Passage["kind"]]: State } = {
  replace: { original: "from", slot: "to" },
  "bring-in": { original: "nothing", slot: "to" },
  "take-out": { original: "from", slot: "nothing" },
};
const END: { readonly [kind in Passage["kind"]]: State } = {
  replace: { original: "to", slot: "from" },
  "bring-in": { original: "to", slot: "nothing" },
  "take-out": { original: "nothing", slot: "from" },
};

interface State {
  readonly original: Occupant;
  readonly slot: Occupant;
}

describe("The table of a landing", () => {
  const rows: readonly (readonly [
    kind: Passage["kind"],
    original: Occupant,
    slot: Occupant,
    others: readonly OthersRule[],
    then: Deed | Verdict,
  ])[] = [
    ["replace", "from", "to", RULES, "exchange"],
    ["replace", "to", "from", RULES, "done"],
    ["replace", "to", "nothing", RULES, "done"],
    ["replace", "touched", "to", ["set-aside", "restore"], "exchange"],
    ["replace", "touched", "to", ["leave"], "left-alone"],
    ["replace", "other", "to", ["leave"], "left-alone"],
    ["replace", "nothing", "to", ["set-aside", "restore"], "bring-in"],
    ["replace", "nothing", "to", ["leave"], "left-alone"],
    ["replace", "to", "touched", ["set-aside", "restore"], "set-aside"],
    ["replace", "to", "other", ["leave"], "give-back"],
    ["replace", "from", "nothing", RULES, "not-kept"],
    ["replace", "other", "from", RULES, "not-kept"],
    ["bring-in", "nothing", "to", RULES, "bring-in"],
    ["bring-in", "to", "nothing", RULES, "done"],
    ["bring-in", "other", "to", ["set-aside", "restore"], "exchange"],
    ["bring-in", "other", "to", ["leave"], "left-alone"],
    ["bring-in", "to", "other", ["set-aside", "restore"], "set-aside"],
    ["bring-in", "nothing", "nothing", RULES, "not-kept"],
    ["take-out", "from", "nothing", RULES, "take-out"],
    ["take-out", "nothing", "from", RULES, "done"],
    ["take-out", "nothing", "nothing", RULES, "done"],
    ["take-out", "touched", "nothing", FORWARD, "not-deleted"],
    ["take-out", "touched", "nothing", ["restore"], "take-out"],
    ["take-out", "nothing", "touched", FORWARD, "give-back"],
    ["take-out", "nothing", "touched", ["restore"], "set-aside"],
    ["take-out", "from", "other", ["restore"], "exchange"],
    ["take-out", "other", "nothing", RULES, "not-deleted"],
    ["take-out", "other", "from", RULES, "made-anew"],
    ["take-out", "other", "touched", RULES, "set-aside"],
  ];
  for (const [kind, original, slot, rules, then] of rows)
    it(`decides '${then}' for a ${kind} with ${original} in the original and ${slot} in the slot (${rules.join(", ")})`, () => {
      for (const others of rules)
        assert.equal(decide({ kind, original, slot, did: "nothing", others }), then);
    });

  it("decides every situation, and ends after at most two deeds", () => {
    let situations = 0;
    for (const start of allSituations()) {
      const { deeds } = run(start);
      assert.ok(deeds.length <= 2, `${JSON.stringify(start)}: ${deeds.join(", ")}`);
      situations += 1;
    }
    assert.ok(situations > 100, String(situations));
  });

  it("never loses what anybody put anywhere", () => {
    for (const start of allSituations()) {
      const { end } = run(start);
      const held = (state: State) => [state.original, state.slot].sort().join();
      assert.equal(held(end), held(start), JSON.stringify(start));
    }
  });

  it("keeps what another writer changed in the original, or sets it aside and says so", () => {
    for (const start of allSituations()) {
      if (start.original !== "other" && start.original !== "touched") continue;
      const { end, verdict } = run(start);
      const isThere = end.original === start.original;
      const isSaid = verdict === "set-aside" && end.slot === start.original;
      assert.ok(isThere || isSaid, `${JSON.stringify(start)} ends with ${verdict}: ${JSON.stringify(end)}`);
    }
  });

  for (const kind of KINDS) {
    it(`lands a ${kind} by one deed, and finds it done after a crash at any point`, () => {
      for (const others of RULES) {
        const first = run({ kind, ...START[kind], did: "nothing", others });
        assert.deepEqual([first.end, first.verdict, first.deeds.length], [END[kind], "done", 1]);
        const again = run({ kind, ...first.end, did: "nothing", others });
        assert.deepEqual([again.end, again.verdict, again.deeds.length], [END[kind], "done", 0]);
      }
    });
  }

  it("never leaves a replaced path without anything while it works", () => {
    for (const start of allSituations("replace")) {
      if (start.original === "nothing") continue;
      for (const state of run(start).states)
        assert.notEqual(state.original, "nothing", JSON.stringify(start));
    }
  });

  it("takes an add back to where another writer's version was, which waited in the slot", () => {
    const { end, verdict } = run({
      kind: "take-out",
      original: "from",
      slot: "other",
      did: "nothing",
      others: "restore",
    });
    assert.deepEqual([end, verdict], [{ original: "other", slot: "from" }, "done"]);
  });
});

describe("What an entry finds", () => {
  const before = facts({ ino: 1 });
  const after = facts({ ino: 2 });
  const entry: ManifestEntry = {
    path: "file",
    operation: "replace",
    before: entryIdentity(before),
    after: entryIdentity(after),
  };
  const nobody = { has: () => false };
  const us = { has: () => true };

  it("is swapped at the door for an undo", () => {
    assert.deepEqual(passageOf(entry, "backward"), { kind: "replace", from: entry.after, to: entry.before });
    assert.equal(passageOf({ ...entry, operation: "add" }, "backward").kind, "take-out");
    assert.equal(passageOf({ ...entry, operation: "delete" }, "backward").kind, "bring-in");
  });

  const touchedLater = { ...before, ctime: [9, 9] as const };
  for (const [what, now, own, direction, occupant] of [
    ["nothing", undefined, nobody, "forward", "nothing"],
    ["what prepare saw", before, nobody, "forward", "from"],
    ["a file with a later change time", touchedLater, nobody, "forward", "touched"],
    ["a file whose change time this landing moved", touchedLater, us, "forward", "from"],
    [
      "a file of several names with a later change time",
      { ...touchedLater, nlink: 2 },
      nobody,
      "forward",
      "from",
    ],
    [
      "another size with the change time that prepare saw",
      { ...before, size: 77 },
      nobody,
      "forward",
      "touched",
    ],
    ["what was staged", { ...after, ctime: [9, 9] as const }, nobody, "forward", "to"],
    ["another file", facts({ ino: 3 }), nobody, "forward", "other"],
    [
      "a new file by a number that was used before",
      { ...before, btime: [8, 8] as const },
      nobody,
      "forward",
      "other",
    ],
    ["what landed, on the way back", { ...after, ctime: [9, 9] as const }, nobody, "backward", "from"],
    [
      "what landed and was written to, on the way back",
      { ...after, size: 77 },
      nobody,
      "backward",
      "touched",
    ],
  ] as const)
    it(`is '${occupant}' in the original for ${what}`, () => {
      assert.equal(inOriginal(now, passageOf(entry, direction), own, direction), occupant);
    });

  for (const [what, now, seen, occupant] of [
    ["nothing", undefined, undefined, "nothing"],
    ["what came out as prepare saw it", touchedLater, undefined, "from"],
    ["what came out with another size", { ...before, size: 77 }, undefined, "touched"],
    ["a mode that the last look had seen", { ...before, mode: 1 }, { ...before, mode: 1 }, "from"],
    ["what is to come", after, undefined, "to"],
    ["another file", facts({ ino: 3 }), undefined, "other"],
  ] as const)
    it(`is '${occupant}' in the slot for ${what}`, () => {
      assert.equal(inSlot(now, passageOf(entry, "forward"), nobody, seen), occupant);
    });
});

function* allSituations(...kinds: readonly Passage["kind"][]): Generator<Situation> {
  for (const kind of kinds.length === 0 ? KINDS : kinds)
    for (const original of OCCUPANTS[kind])
      for (const slot of OCCUPANTS[kind])
        for (const others of RULES) yield { kind, original, slot, did: "nothing", others };
}

/** A run of the table in a model of the world, where nobody else acts. */
function run(start: Situation): { end: State; verdict: Verdict; deeds: Deed[]; states: State[] } {
  const deeds: Deed[] = [];
  const states: State[] = [start];
  let situation = start;
  for (;;) {
    const next = decide(situation);
    if (!isDeed(next)) return { end: pick(situation), verdict: next, deeds, states };
    assert.ok(deeds.push(next) < 10, `it never ends: ${JSON.stringify(start)}`);
    situation = { ...situation, ...perform(next, situation), did: next };
    states.push(pick(situation));
  }
}

function perform(deed: Deed, { original, slot }: State): State {
  const isExchange = deed === "exchange" || (deed === "give-back" && original !== "nothing");
  if (isExchange) assert.ok(original !== "nothing" && slot !== "nothing", "an exchange needs both");
  else if (deed === "take-out") assert.ok(original !== "nothing" && slot === "nothing", "a move needs room");
  else assert.ok(original === "nothing" && slot !== "nothing", "a move needs room");
  return { original: slot, slot: original };
}

function pick({ original, slot }: State): State {
  return { original, slot };
}

function facts(fields: Partial<Facts>): Facts {
  return {
    kind: "file",
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: 5,
    nlink: 1,
    ino: 1,
    mtime: [1, 1],
    ctime: [1, 2],
    btime: [1, 0],
    atime: [1, 1],
    rdev: "0:0",
    mountId: 1,
    device: "8:1",
    locked: false,
    ...fields,
  };
}
