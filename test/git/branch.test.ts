import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { SandboxConflictError } from "../../src/index.ts";
import { TestRepository } from "../support/test-repository.ts";
import { GitWorkshop, stateOf } from "./git-workshop.ts";

describe("When the branch moved meanwhile", () => {
  it("[G4] a plan merges, and the commits of others stay", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("readme.txt", repository.read("readme.txt").replace("seven", "7"));
    repository.write("readme.txt", repository.read("readme.txt").replace("one", "1"));
    repository.write("theirs.txt", "theirs\n");
    const theirs = repository.commitAll("theirs");
    const { changes } = await plan.drydock.plans.diff(plan.id);
    assert.deepEqual(changes[0]?.warnings, ["changed on main meanwhile; applying merges both"]);
    await plan.apply();
    assert.equal(repository.git("rev-parse", "HEAD^1"), theirs);
    assert.equal(repository.read("readme.txt"), "1\ntwo\nthree\nfour\nfive\nsix\n7\n");
    assert.equal(repository.status(), "");
    repository.assertSound();
  });

  it("[G2] a conflict is reported with its files and both sides, and the repository is as it was", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("readme.txt", "mine\n");
    await plan.write("both.txt", "mine\n");
    await plan.write("src/app.ts", "mine\n");
    (await plan.worktree()).remove("src/old.ts");
    repository.write("readme.txt", "theirs\n");
    repository.write("both.txt", "theirs\n");
    repository.write("src/old.ts", "theirs\n");
    repository.remove("src/app.ts");
    repository.commitAll("theirs");
    repository.write("dirty.txt", "dirty\n");
    const before = stateOf(repository);
    assert.deepEqual(await plan.conflicts(), [
      "both.txt: added on main and in the plan",
      "readme.txt: changed on main and in the plan",
      "src/app.ts: deleted on main, changed in the plan",
      "src/old.ts: changed on main, deleted in the plan",
    ]);
    assert.equal(stateOf(repository), before);
    assert.deepEqual(repository.traces(), []);
    assert.deepEqual(
      workshop.ownRefs().map((ref) => ref.split("/").at(-1)),
      ["base"],
    );
    assert.equal((await plan.changes()).length, 4);
  });

  it("[G4] a branch that was rewritten is not overwritten", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    repository.git("commit", "-q", "--amend", "-m", "begin, differently");
    const before = stateOf(repository);
    assert.match((await plan.conflicts())[0] ?? "", /^\.: main was rewritten: /);
    assert.equal(stateOf(repository), before);
  });

  it("[G4] a branch that is also checked out elsewhere is refused", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    repository.git("worktree", "add", "-q", "-f", "../second", "main");
    assert.match(
      (await plan.refusal()).message,
      /main is also checked out in .*second, which would not follow it/,
    );
    repository.git("worktree", "remove", "../second");
    await plan.apply();
    repository.assertSound();
  });

  it("a plan does not land on another branch than it began with", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    repository.git("checkout", "-q", "-b", "other");
    assert.deepEqual(await plan.conflicts(), [
      ".: main was checked out when the sandbox was made, and now other is",
    ]);
    repository.git("checkout", "-q", "main");
    await plan.apply();
  });

  it("two plans over one checkout land one after the other", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const first = await workshop.plan();
    const second = await workshop.plan();
    await first.write("first.txt", "first\n");
    await second.write("second.txt", "second\n");
    assert.equal(workshop.ownRefs().length, 2);
    await Promise.all([first.apply("first"), second.apply("second")]);
    assert.equal(repository.read("first.txt"), "first\n");
    assert.equal(repository.read("second.txt"), "second\n");
    assert.equal(repository.git("rev-list", "--count", "--merges", "HEAD"), "2");
    assert.deepEqual(workshop.ownRefs(), []);
    repository.assertSound();
  });

  it("a plan from a linked worktree lands on that one's branch", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("worktree", "add", "-q", "-b", "topic/one", "../linked");
    const linked = new TestRepository(join(workshop.base, "linked"));
    const plan = await workshop.plan({
      resources: [{ name: "app", location: "linked", strategy: "git_worktree" }],
    });
    await plan.write("src/app.ts", "linked\n");
    await plan.apply();
    assert.equal(linked.read("src/app.ts"), "linked\n");
    assert.equal(linked.status(), "");
    assert.equal(repository.read("src/app.ts"), "export const app = 1;\n");
    assert.equal(linked.git("rev-parse", "topic/one"), linked.head());
    await plan.drydock.plans.undo(plan.id);
    assert.equal(linked.head(), repository.head());
    repository.assertSound();
  });
});

describe("An undo of what landed in a checkout", () => {
  it("[G5] brings branch, index and files back", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const before = repository.head();
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    await plan.write("new/file.txt", "mine\n");
    (await plan.worktree()).remove("src/old.ts");
    await plan.apply();
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.head(), before);
    assert.equal(repository.status(), "");
    assert.equal(repository.has("new"), false);
    assert.equal(repository.read("src/old.ts"), "old\n");
    assert.equal(existsSync(join(workshop.stateDir, "sandboxes", plan.id)), false);
    repository.assertSound();
  });

  it("[G5] is refused once the branch has moved on, with the way to take it back by a commit", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    await plan.apply();
    const landed = repository.head();
    repository.write("theirs.txt", "theirs\n");
    repository.commitAll("theirs");
    const before = stateOf(repository);
    await assert.rejects(
      plan.drydock.plans.undo(plan.id),
      (thrown: Error & { cause?: unknown; hint?: string }) => {
        assert.match(thrown.message, /main is at [0-9a-f]{12} and no longer at/);
        const cause = thrown.cause instanceof SandboxConflictError ? thrown.cause : undefined;
        assert.match(cause?.hint ?? "", new RegExp(`git revert -m 1 ${landed}`));
        return true;
      },
    );
    assert.equal(stateOf(repository), before);
    assert.deepEqual(repository.traces(), []);
    repository.git("revert", "--no-edit", "-m", "1", landed);
    assert.equal(repository.read("src/app.ts"), "export const app = 1;\n");
  });

  it("[G1] is refused where somebody has changed or staged what landed", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    await plan.write("src/old.ts", "mine\n");
    await plan.apply();
    repository.write("src/app.ts", "dirty\n");
    const before = stateOf(repository);
    await assert.rejects(plan.drydock.plans.undo(plan.id), /src\/app\.ts/);
    assert.equal(stateOf(repository), before);
    repository.git("checkout", "-q", "--", "src/app.ts");
    repository.write("src/old.ts", "staged\n");
    repository.git("add", "src/old.ts");
    await assert.rejects(plan.drydock.plans.undo(plan.id), /src\/(?:old|app)\.ts/);
    assert.deepEqual(repository.traces(), []);
  });
});

describe("Cleaning up after a plan over a checkout", () => {
  it("[G6] removes refs and folders, also where the worktree was deleted by hand", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    assert.equal(workshop.ownRefs().length, 1);
    rmSync(worktree.path, { recursive: true });
    await plan.drydock.plans.cancel(plan.id);
    assert.deepEqual(workshop.ownRefs(), []);
    assert.equal(existsSync(worktree.path), false);
    const again = await workshop.plan();
    rmSync(join(workshop.stateDir, "sandboxes"), { recursive: true });
    await again.drydock.plans.cancel(again.id);
    assert.deepEqual(workshop.ownRefs(), []);
    assert.equal(repository.git("branch", "--list"), "* main");
    repository.assertSound();
  });

  it("[G6] works when the repository itself is gone", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    rmSync(workshop.repository.path, { recursive: true });
    await plan.drydock.plans.cancel(plan.id);
  });

  it("[A7] keeps the work after a refused apply, and rollback throws it away", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    (await plan.worktree()).write("made.log", "ignored\n");
    repository.write("src/app.ts", "dirty\n");
    await plan.refusal();
    assert.deepEqual(await plan.changes(), ["added file made.log", "modified file src/app.ts"]);
    await plan.drydock.plans.rollback(plan.id);
    assert.deepEqual(await plan.changes(), []);
    assert.equal(repository.read("src/app.ts"), "dirty\n");
  });
});
