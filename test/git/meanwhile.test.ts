import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestRepository } from "../support/test-repository.ts";
import { GitWorkshop } from "./git-workshop.ts";

const COMMITTED = "export const app = 1;\n";
const CHANGED = "export const app = 9;\n";

describe("While a plan over a git checkout is open", () => {
  it("[G1] a change is seen that leaves size and time of a file as git knows them", async (t) => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "the plan's\n");
    if (!(await changeUnseen(repository))) return t.skip("too slow here to do all of it within one second");
    assert.deepEqual(await plan.conflicts(), ["src/app.ts: has uncommitted changes"]);
    assert.equal(repository.read("src/app.ts"), CHANGED);
  });

  it("what it began with is kept, though the user throws it away and tidies up", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("src/app.ts", "only in this commit\n");
    const base = repository.commitAll("goes");
    const plan = await workshop.plan();
    await plan.write("src/old.ts", "the plan's\n");
    repository.git("reset", "-q", "--hard", "HEAD~1");
    repository.git("reflog", "expire", "--expire=now", "--all");
    repository.git("gc", "-q", "--prune=now");
    const worktree = await plan.worktree();
    assert.equal(worktree.git("show", "HEAD:src/app.ts"), "only in this commit");
    assert.deepEqual(await plan.changes(), ["modified file src/old.ts"]);
    assert.match((await plan.conflicts()).join(), /main was rewritten/);
    repository.git("reset", "-q", "--hard", base);
    await plan.apply();
    assert.equal(repository.read("src/old.ts"), "the plan's\n");
    repository.assertSound();
  });

  it("a merge that is not finished in the worktree does not land", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    worktree.git("checkout", "-q", "-b", "side");
    worktree.write("src/app.ts", "side\n");
    worktree.commitAll("side");
    worktree.git("checkout", "-q", "-");
    worktree.write("src/app.ts", "here\n");
    worktree.commitAll("here");
    assert.throws(() => worktree.git("merge", "-q", "side"));
    assert.match((await plan.refusal()).message, /A merge is under way in the sandbox/);
    assert.equal(workshop.repository.read("src/app.ts"), COMMITTED);
    worktree.git("merge", "--abort");
    await plan.apply();
    assert.equal(workshop.repository.read("src/app.ts"), "here\n");
    workshop.repository.assertSound();
  });
});

/**
 * Changes a file in the very second in which git has looked at it, which git sees only from the index being
 * as young as the file. Returns when that second is over; false if it never was quick enough.
 */
async function changeUnseen(repository: TestRepository): Promise<boolean> {
  const [file, index] = [join(repository.path, "src/app.ts"), join(repository.path, ".git/index")];
  const second = (path: string) => Math.floor(statSync(path).ctimeMs / 1000);
  for (let tries = 0; tries < 20; tries += 1) {
    await sleep(1000 - (Date.now() % 1000));
    repository.write("src/app.ts", COMMITTED);
    const begun = second(file);
    repository.git("update-index", "--refresh");
    repository.write("src/app.ts", CHANGED);
    const isDone = second(file) === begun && second(index) === begun;
    await sleep(1000 - (Date.now() % 1000));
    if (isDone) return true;
  }
  return false;
}
