import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { isRule, RULES, type RuleName } from "./rules.ts";
import { simulate } from "./simulate.ts";

/** Seeds that every run tries. `npm run simulate` tries as many as you like. */
const SEEDS = IS_LONG ? 50_000 : 500;

/**
 * What is found without a rule: alone, or together with those that cover for it. The seed is the first that
 * finds it, and stays as long as it does; `npm run simulate -- --without RULE,RULE` finds another.
 */
const FOUND: readonly (readonly [rules: string, seed: number, violation: RegExp])[] = [
  ["first-writer-wins", 824, /has a second decision/],
  ["act-on-the-row", 9079, /never ends/],
  ["read-what-is-not-known", 100, /finishes, and .* lacks it/],
  ["read-what-was-decided", 201, /never ends/],
  ["compare-and-set", 2, /was done, and is landing/],
  ["second-row", 27, /has a second decision/],
  ["give-up-while-landing", 126, /was told to be applied, and then not applied/],
  ["finish-unless-given-up", 60, /finishes against its rows/],
  ["claims-of-transactions,one-transaction", 753, /lands over another's work/],
  ["claims-of-transactions,held-after-landing", 817, /lands over another's work/],
  ["takeover-of-dead-leases", 1, /driven by two at once/],
  ["no-late-renewal", 13, /driven by two at once/],
  ["new-epoch", 19, /never ends/],
  ["lease-by-compare", 616, /driven by two at once/],
  ["count-from-before", 21, /driven by two at once/],
  ["one-directory", 4, /never ends/],
  ["own-start", 1195, /never ends/],
  ["current-start", 212, /lands again, or what was never prepared/],
  ["next-start", 92, /never ends/],
  ["count-of-notes", 93, /finishes, and .* lacks it/],
  ["note-before-look", 6451, /commits twice/],
  ["rows-stay", 4, /never ends/],
  ["calls-stay", 70326, /ran, and its user was told that it did not/],
  ["upkeep", 1, /still holds/],
  ["wait-for-all", 75, /is aborted, and .* holds it/],
  ["attempt-in-key", 4, /never ends/],
  ["cancel,claim,deadline", 29, /runs after its user was told that it did not/],
  ["notes-outlast-calls", 1843, /ran, and its user was told that it did not/],
  ["one-call-at-a-time", 168, /is aborted, and .* holds it/],
  ["notes-are-flushed", 2, /never ends/],
  ["ids-once", 30, /has a second decision/],
  ["database-keeps-commits", 356, /never ends/],
  ["contract", 11, /runs a call of another version/],
  ["answers-again", 2201, /ran, and its user was told that it did not/],
  ["ended,look-before-landing", 57, /lands again, or what was never prepared/],
  ["deadline", 2476, /ran, and its user was told that it did not/],
  ["commit-once", 112, /is aborted, and .* has it/],
  ["claim,deadline", 20, /changes what came after it/],
  ["record,deadline", 12, /commits twice/],
  ["ended,look-before-beginning", 497, /is aborted, and .* holds it/],
  ["act-on-the-row,look-before-taking-back", 9079, /is taken back, and nothing says that it is given up/],
];

/** Seeds that found a defect of the protocol while it was made. */
const REGRESSIONS = [36, 440, 530, 677, 988, 2800, 2950, 3966, 4971, 6896, 66447, 1195, 70326];

function namesOf(rules: string): readonly RuleName[] {
  return rules.split(",").filter(isRule);
}

describe("the simulation of a fleet", () => {
  it("finds nothing with all rules, whatever dies, is late, is lost or is repeated", () => {
    for (let seed = 1; seed <= SEEDS; seed += 1)
      assert.equal(simulate(seed).violation, undefined, `seed ${seed}`);
  });

  it("finds nothing at the seeds that once found something", () => {
    for (const seed of [...REGRESSIONS, ...FOUND.map(([, found]) => found)])
      assert.equal(simulate(seed).violation, undefined, `seed ${seed}`);
  });

  it("is the same run for the same seed", () => {
    assert.deepEqual(simulate(7), simulate(7));
  });

  for (const [rules, seed, violation] of FOUND)
    it(`finds what happens without ${rules.replaceAll(",", " and ")}`, () => {
      const run = simulate(seed, namesOf(rules));
      assert.match(run.violation ?? "nothing", violation);
    });

  it("has a finding for every rule, alone or with those that cover for it", () => {
    const found = new Set(FOUND.flatMap(([rules]) => namesOf(rules)));
    assert.deepEqual(
      Object.keys(RULES).filter((rule) => isRule(rule) && !found.has(rule)),
      [],
    );
  });
});
