import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/index.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { IS_LONG } from "../support/long-form.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { MergeScene } from "./merge-scene.ts";

const FILES = ["a", "b", "c"] as const;
const LINES = 24;
const PLANS = 10;

/** Numbers that look random and are the same in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

type Texts = Map<string, string>;

/** What git makes of three versions; undefined if both sides changed the same lines. */
function mergedByGit(folder: string, ours: string, base: string, theirs: string): string | undefined {
  const names = Object.entries({ ours, base, theirs }).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  const { status, stdout } = spawnSync("git", ["merge-file", "-p", "-q", ...names], { encoding: "utf8" });
  return status === 0 ? stdout : undefined;
}

/** What the original has after a plan landed on it; undefined if the plan can't be merged. */
function afterPlan(folder: string, now: Texts, base: Texts, work: Texts): Texts | undefined {
  const after: Texts = new Map(now);
  for (const [name, ours] of work) {
    const merged = mergedByGit(folder, ours, base.get(name) ?? "", now.get(name) ?? "");
    if (merged === undefined) return undefined;
    after.set(name, merged);
  }
  return after;
}

/** Ten plans change lines of the same files by commands, then land one after the other. */
async function contest(strategy: string, seed: number): Promise<{ landed: number; refused: number }> {
  const below = randomNumbers(seed);
  const text = Array.from({ length: LINES }, (_, line) => `line ${line}\n`).join("");
  const base: Texts = new Map(FILES.map((name) => [name, text]));
  await using scene = await MergeScene.open(strategy, Object.fromEntries(base));
  const folder = mkdtempSync(join(fastFolder(), "drydock-oracle-"));
  const works: Texts[] = [];
  for (let plan = 0; plan < PLANS; plan += 1) {
    const name = FILES[below(FILES.length)] ?? "a";
    const line = below(LINES) + 1;
    await scene.plan(`p${plan}`);
    const command = ["sed", "-i", `${line}s/$/ of plan ${plan}/`, join(scene.original, name)];
    assert.equal((await scene.drydock.capture(`p${plan}`, { command })).exitCode, 0);
    works.push(new Map([[name, await scene.read(`p${plan}`, name)]]));
  }
  let [now, landed, refused] = [base, 0, 0];
  for (const [plan, work] of works.entries()) {
    const expected = afterPlan(folder, now, base, work);
    const applied = scene.drydock.plans.apply(`p${plan}`, { update: true });
    if (expected === undefined) {
      await assert.rejects(applied, (thrown) => {
        assert.ok(thrown instanceof AtomicCommitError);
        assert.deepEqual(
          thrown.conflicts.map(({ path }) => path),
          [...work.keys()],
        );
        return true;
      });
      refused += 1;
    } else {
      await applied;
      [now, landed] = [expected, landed + 1];
    }
    for (const name of FILES) assert.equal(scene.there(name), now.get(name), `${name} after plan ${plan}`);
  }
  removeFolder(folder);
  return { landed, refused };
}

describe("ten plans on one folder", () => {
  const strategies = process.geteuid?.() === 0 ? ["overlay", "filesystem_copy"] : ["filesystem_copy"];
  for (const strategy of strategies)
    it(`[V10] land as git would merge them one after the other, or name what they could not merge, with ${strategy}`, async () => {
      const counts = { landed: 0, refused: 0 };
      for (let seed = 1; seed <= (IS_LONG ? 20 : 1); seed += 1) {
        const { landed, refused } = await contest(strategy, seed);
        counts.landed += landed;
        counts.refused += refused;
      }
      assert.ok(counts.landed > counts.refused && counts.refused > 0, JSON.stringify(counts));
    });
});
