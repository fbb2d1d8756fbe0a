import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { withDefaults } from "../../src/core/capabilities.ts";
import { GitWorktreeStrategy } from "../../src/strategies/git-worktree/git-worktree.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { contextIn } from "../support/strategy-context.ts";
import { TestRepository } from "../support/test-repository.ts";
import { tryCheckpoints } from "./checkpoint-properties.ts";
import { PropertyPlace } from "./landing-properties.ts";

/**
 * What git does not keep, which the strategy declares, is not compared. A fifo in the checkout is not in the
 * worktree, and would be in the way of what is made there under its name; and git does not work in a checkout
 * of somebody else's. Programs do not find empty folders in a worktree, so what has to land is what they see.
 */
const TRIED = { without: { building: ["fifo", "chown"], work: [] }, seesOtherwise: true } as const;

function makeCheckout(path: string): void {
  mkdirSync(path);
  new TestRepository(path).git("init", "-q", "-b", "main");
}

function commitAll(path: string): void {
  new TestRepository(path).commitAll("built");
}

/** Nothing is uncommitted, nothing of ours is left, and git finds nothing wrong. */
function check(path: string): void {
  const repository = new TestRepository(path);
  assert.equal(repository.status(), "");
  repository.assertSound();
}

describe("random work in random checkouts", () => {
  let parent = "";
  let place: PropertyPlace;
  let strategy: GitWorktreeStrategy;

  before(async () => {
    parent = mkdtempSync(join(fastFolder(), "drydock-git-property-"));
    for (const name of ["work", "checkpoints", "checkpoints/state"]) mkdirSync(join(parent, name));
    strategy = new GitWorktreeStrategy(contextIn(join(parent, "checkpoints/state")));
    place = await PropertyPlace.open(join(parent, "work"), {
      ...TRIED,
      strategy: "git_worktree",
      losses: withDefaults(strategy.capabilities).loses,
      makeOriginal: makeCheckout,
      settle: commitAll,
      check,
    });
  });

  after(async () => {
    await place.drydock.close();
    rmSync(parent, { recursive: true, force: true });
  });

  it("[A11] lands as it is in the worktree, and undo brings back exactly what was", () =>
    place.landsAndUndoes(10, 3));

  it("[A7] a dry run changes neither the original nor the sandbox, and what lands after it is the same", () =>
    place.survivesDryRuns(4, 1));

  it("[D1] the diff names what differs, and nothing else", () => place.showsWhatDiffers(4, 1));

  it("[C6] checkpoints bring back exactly that state, and exactly that lands", () => {
    const trial = { ...TRIED, parent: join(parent, "checkpoints"), count: 4, seconds: 2 };
    return tryCheckpoints(strategy, { ...trial, makeOriginal: makeCheckout, settle: commitAll });
  });
});
