import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GitWorkshop, stateOf, WORKTREE } from "./git-workshop.ts";

const resources = [{ ...WORKTREE, from: "checkout" }];

describe("A sandbox that begins with the checkout as it is", () => {
  it("[G1] holds uncommitted and untracked files, and touches neither index, stash nor files", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("src/old.ts", "stashed\n");
    repository.git("stash", "-q");
    repository.write("src/app.ts", "dirty\n");
    repository.write("staged.txt", "staged\n");
    repository.git("add", "staged.txt");
    repository.write("untracked.txt", "untracked\n");
    repository.write("noise.log", "ignored\n");
    repository.remove("readme.txt");
    const before = stateOf(repository);
    const plan = await workshop.plan({ resources });
    assert.equal(stateOf(repository), before);
    const worktree = await plan.worktree();
    assert.equal(worktree.read("src/app.ts"), "dirty\n");
    assert.equal(worktree.read("staged.txt"), "staged\n");
    assert.equal(worktree.read("untracked.txt"), "untracked\n");
    assert.equal(worktree.has("noise.log"), false);
    assert.equal(worktree.has("readme.txt"), false);
    assert.equal(worktree.status(), "");
    assert.equal(
      worktree.git("log", "--format=%s", "-2"),
      "The checkout as it was, with what was not committed\nbegin",
    );
    assert.deepEqual(await plan.changes(), []);
  });

  it("[G1] lands only what the plan changed; what was uncommitted stays uncommitted", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("src/app.ts", "dirty\n");
    repository.write("untracked.txt", "untracked\n");
    repository.write("other.txt", "untracked\n");
    const plan = await workshop.plan({ resources });
    await plan.write("src/old.ts", "the plan's\n");
    await plan.write("src/app.ts", "dirty, and the plan's\n");
    await plan.write("untracked.txt", "untracked, and the plan's\n");
    (await plan.worktree()).remove("other.txt");
    const { participants } = await plan.apply();
    assert.equal(participants[0]?.changes, 4);
    assert.equal(repository.git("diff", "--name-only", "HEAD~1", "HEAD"), "src/old.ts");
    assert.equal(repository.status(), " M src/app.ts\n?? untracked.txt");
    assert.equal(repository.read("src/app.ts"), "dirty, and the plan's\n");
    assert.equal(repository.read("untracked.txt"), "untracked, and the plan's\n");
    assert.doesNotMatch(repository.git("log", "--format=%s"), /The checkout as it was/);
    repository.assertSound();
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.read("src/app.ts"), "dirty\n");
    assert.equal(repository.read("untracked.txt"), "untracked\n");
    assert.equal(repository.read("other.txt"), "untracked\n");
    assert.equal(repository.read("src/old.ts"), "old\n");
    repository.assertSound();
  });

  it("lands changes of nothing but uncommitted files without a commit", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const before = repository.head();
    repository.write("untracked.txt", "untracked\n");
    const plan = await workshop.plan({ resources });
    await plan.write("untracked.txt", "the plan's\n");
    await plan.apply();
    assert.equal(repository.head(), before);
    assert.equal(repository.read("untracked.txt"), "the plan's\n");
    assert.equal(repository.status(), "?? untracked.txt");
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.read("untracked.txt"), "untracked\n");
  });

  it("[A15] refuses where an uncommitted file was changed since", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("src/app.ts", "dirty\n");
    const plan = await workshop.plan({ resources });
    await plan.write("src/app.ts", "the plan's\n");
    repository.write("src/app.ts", "dirtier\n");
    assert.deepEqual(await plan.conflicts(), ["src/app.ts: has uncommitted changes"]);
    assert.equal(repository.read("src/app.ts"), "dirtier\n");
  });

  it("lands commits made in the worktree as one, without what was uncommitted", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("src/app.ts", "dirty\n");
    const plan = await workshop.plan({ resources });
    const worktree = await plan.worktree();
    worktree.write("one.txt", "one\n");
    worktree.commitAll("one");
    worktree.write("two.txt", "two\n");
    worktree.commitAll("two");
    await plan.apply("both");
    assert.equal(repository.git("log", "--topo-order", "--format=%s", "--no-merges"), "both\nbegin");
    assert.equal(repository.git("show", "HEAD:src/app.ts"), "export const app = 1;");
    assert.equal(repository.status(), " M src/app.ts");
  });

  it("[X5] is asked for only of git checkouts, and by a word that is known", async () => {
    await using workshop = new GitWorkshop();
    const drydock = await workshop.open();
    const create = (resource: object) =>
      drydock.plans.create({ resources: [{ location: "app", ...resource }] });
    await assert.rejects(create({ from: "yesterday" }), /can't begin with 'yesterday'/);
    await assert.rejects(create({ from: "checkout", type: "fs-directory" }), /is no git checkout/);
  });
});
