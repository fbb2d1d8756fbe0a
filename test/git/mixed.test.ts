import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GitWorkshop, stateOf, WORKTREE } from "./git-workshop.ts";

describe("[T2] A plan over a checkout and a folder", () => {
  async function mixed(workshop: GitWorkshop) {
    mkdirSync(join(workshop.base, "folder"));
    writeFileSync(join(workshop.base, "folder/a.txt"), "a\n");
    const plan = await workshop.plan({
      resources: [WORKTREE, { location: "folder", strategy: "filesystem_copy" }],
    });
    await plan.write("src/app.ts", "mine\n");
    await plan.drydock.plans.write(plan.id, "folder", "a.txt", Buffer.from("mine\n"));
    return { plan, folder: () => readFileSync(join(workshop.base, "folder/a.txt"), "utf8") };
  }

  it("lands whole, and is undone whole", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { plan, folder } = await mixed(workshop);
    const before = repository.head();
    await plan.apply();
    assert.deepEqual([repository.read("src/app.ts"), folder()], ["mine\n", "mine\n"]);
    await plan.drydock.plans.undo(plan.id);
    assert.deepEqual([repository.head(), folder()], [before, "a\n"]);
    repository.assertSound();
  });

  it("changes nothing when the checkout can't follow, nor when the folder can't", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { plan, folder } = await mixed(workshop);
    repository.write("src/app.ts", "dirty\n");
    const before = stateOf(repository);
    await plan.refusal();
    assert.deepEqual([stateOf(repository), folder()], [before, "a\n"]);
    repository.git("checkout", "-q", "--", ".");
    writeFileSync(join(workshop.base, "folder/a.txt"), "theirs\n");
    const clean = stateOf(repository);
    await plan.refusal();
    assert.deepEqual([stateOf(repository), folder()], [clean, "theirs\n"]);
    assert.deepEqual(repository.traces(), []);
  });

  it("goes back whole where an undo can't be done in the checkout", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { plan, folder } = await mixed(workshop);
    await plan.apply();
    repository.write("theirs.txt", "theirs\n");
    const theirs = repository.commitAll("theirs");
    await assert.rejects(plan.drydock.plans.undo(plan.id));
    assert.deepEqual([repository.head(), folder()], [theirs, "mine\n"]);
    assert.deepEqual(repository.traces(), []);
  });
});
