import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GitWorkshop, stateOf } from "./git-workshop.ts";

describe("A plan over a git checkout", () => {
  it("lands as a merge of its own branch, with its message, and the checkout follows", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    assert.equal(plan.view.resources[0]?.strategy, "git_worktree");
    await plan.write("src/app.ts", "export const app = 2;\n");
    await plan.write("docs/new/page.md", "# New\n");
    (await plan.worktree()).remove("src/old.ts");
    const { participants, attention } = await plan.apply("better app\n\nwith a page");
    assert.deepEqual(participants, [
      { resource: "app", strategy: "git_worktree", outcome: "committed", changes: 3 },
    ]);
    assert.deepEqual(attention, []);
    assert.equal(repository.read("src/app.ts"), "export const app = 2;\n");
    assert.equal(repository.read("docs/new/page.md"), "# New\n");
    assert.equal(repository.has("src/old.ts"), false);
    assert.equal(repository.status(), "");
    assert.equal(repository.git("log", "--format=%s%n%b", "-1"), "better app\nwith a page\n");
    assert.equal(repository.git("rev-list", "--count", "--merges", "HEAD"), "1");
    assert.equal(
      repository.git("reflog", "-1", "--format=%gs"),
      `merge plan ${plan.id}: better app with a page`,
    );
    assert.deepEqual(workshop.ownRefs(), []);
    repository.assertSound();
  });

  it("leaves an index that knows the files that landed, and those of an undo, so that git need not read them again", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "export const app = 2;\n");
    await plan.write("docs/new/page.md", "# New\n");
    await plan.apply();
    // This one does not look into files to find out whether they only look changed.
    assert.equal(repository.git("diff-files", "--name-only"), "");
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.git("diff-files", "--name-only"), "");
  });

  it("keeps the commits that were made in the worktree as they are", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    worktree.write("src/app.ts", "export const app = 2;\n");
    const first = worktree.commitAll("first");
    worktree.write("src/app.ts", "export const app = 3;\n");
    const second = worktree.commitAll("second");
    await plan.apply();
    assert.equal(repository.git("rev-parse", "HEAD^2"), second);
    assert.equal(repository.git("rev-parse", "HEAD^2^"), first);
    assert.equal(repository.read("src/app.ts"), "export const app = 3;\n");
    repository.assertSound();
  });

  it("commits what the worktree holds beyond its commits on top of them", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    worktree.write("src/app.ts", "export const app = 2;\n");
    const commit = worktree.commitAll("first");
    worktree.write("not-committed.txt", "x\n");
    await plan.apply("the rest");
    assert.equal(repository.git("rev-parse", "HEAD^2^"), commit);
    assert.equal(repository.read("not-committed.txt"), "x\n");
    repository.assertSound();
  });

  it("lands the files as one commit where the worktree's history was rewritten", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("src/app.ts", "export const app = 2;\n");
    const before = repository.commitAll("second");
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    worktree.git("reset", "-q", "--hard", "HEAD~1");
    assert.deepEqual(await plan.changes(), ["modified file src/app.ts"]);
    await plan.apply();
    assert.equal(repository.read("src/app.ts"), "export const app = 1;\n");
    assert.equal(repository.git("rev-parse", "HEAD^1"), before);
    assert.equal(repository.git("rev-parse", "HEAD^2^"), before);
    repository.assertSound();
  });

  it("moves the branch without a merge commit where the config says so", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("../drydock.yaml", "sandbox: { git: { fast_forward: true } }\n");
    const before = repository.head();
    const plan = await workshop.plan({}, { config: "drydock.yaml" });
    await plan.write("src/app.ts", "export const app = 2;\n");
    await plan.apply("straight on");
    assert.equal(repository.git("rev-parse", "HEAD^"), before);
    assert.equal(repository.git("rev-list", "--count", "--merges", "HEAD"), "0");
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.head(), before);
    repository.assertSound();
  });

  it("commits as the user, wherever he said who he is, and as Drydock where he did not", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const whoLands = async () => {
      const plan = await workshop.plan();
      await plan.write("src/app.ts", `export const app = ${Math.random()};\n`);
      await plan.apply();
      return repository.git("log", "-1", "--format=%an <%ae>, %cn <%ce>");
    };
    assert.equal(await whoLands(), "Drydock <drydock@localhost>, Drydock <drydock@localhost>");
    repository.write("../home/.gitconfig", "[user]\n\tname = Bo\n\temail = bo@example.com\n");
    assert.equal(await whoLands(), "Bo <bo@example.com>, Bo <bo@example.com>");
    repository.git("config", "user.name", 'Cy "the" O\'Neil');
    assert.equal(await whoLands(), `Cy "the" O'Neil <bo@example.com>, Cy "the" O'Neil <bo@example.com>`);
  });

  it("[G1] leaves uncommitted work, the index and stashes alone", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("src/old.ts", "stashed\n");
    repository.git("stash", "-q");
    repository.write("src/old.ts", "dirty\n");
    repository.write("staged.txt", "staged\n");
    repository.git("add", "staged.txt");
    repository.write("staged.txt", "staged, and changed since\n");
    repository.write("untracked.txt", "untracked\n");
    repository.write("some.log", "ignored\n");
    const status = repository.status();
    const plan = await workshop.plan();
    assert.equal((await plan.worktree()).has("untracked.txt"), false);
    await plan.write("src/app.ts", "export const app = 2;\n");
    await plan.apply();
    assert.equal(repository.status(), status);
    assert.equal(repository.read("src/old.ts"), "dirty\n");
    assert.equal(repository.read("staged.txt"), "staged, and changed since\n");
    assert.equal(repository.git("show", ":staged.txt"), "staged");
    assert.equal(repository.git("stash", "show", "-p").includes("+stashed"), true);
    assert.deepEqual(repository.git("diff", "--name-only", "HEAD~1", "HEAD"), "src/app.ts");
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.status(), status);
    repository.assertSound();
  });

  it("[G1] [A15] refuses to land over uncommitted work, names every path, and touches nothing", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    await plan.write("readme.txt", "mine\n");
    await plan.write("new.txt", "mine\n");
    await plan.write("deep/er/new.txt", "mine\n");
    await plan.write("build.txt", "mine\n");
    (await plan.worktree()).remove("src/old.ts");
    repository.write("src/app.ts", "dirty\n");
    repository.write("readme.txt", "staged\n");
    repository.git("add", "readme.txt");
    repository.write("new.txt", "untracked\n");
    repository.write("deep", "a file where a folder is to be\n");
    repository.write("build.txt/inside", "a folder where a file is to be\n");
    repository.write("src/old.ts", "dirty\n");
    const before = stateOf(repository);
    assert.deepEqual(await plan.conflicts(), [
      "build.txt: something that git does not track is in the way",
      "deep: something that git does not track is in the way",
      "new.txt: an untracked file is in the way",
      "readme.txt: has staged changes",
      "src/app.ts: has uncommitted changes",
      "src/old.ts: has uncommitted changes",
    ]);
    assert.equal(stateOf(repository), before);
    repository.git("checkout", "-q", "HEAD", "--", ".");
    repository.remove("new.txt");
    repository.remove("build.txt");
    repository.remove("deep");
    await plan.apply();
    assert.equal(repository.read("deep/er/new.txt"), "mine\n");
    assert.equal(repository.status(), "");
    repository.assertSound();
  });

  it("[G1] refuses to land over a file that git was told not to look at", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("update-index", "--assume-unchanged", "src/app.ts");
    repository.git("update-index", "--skip-worktree", "src/old.ts");
    repository.write("src/app.ts", "mine alone\n");
    repository.write("src/old.ts", "mine alone\n");
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "the plan's\n");
    await plan.write("src/old.ts", "the plan's\n");
    assert.match((await plan.conflicts()).join("\n"), /^src\/app.ts: is marked .*\nsrc\/old.ts: is marked /);
    assert.equal(repository.read("src/app.ts"), "mine alone\n");
  });

  it("lands what is in the checkout already, and lets it be", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "the same\n");
    await plan.write("new.txt", "the same\n");
    (await plan.worktree()).remove("src/old.ts");
    repository.write("src/app.ts", "the same\n");
    repository.write("new.txt", "the same\n");
    repository.remove("src/old.ts");
    await plan.apply();
    assert.equal(repository.status(), "");
    assert.equal(repository.read("new.txt"), "the same\n");
    repository.assertSound();
  });

  it("shows moved files, and what does not land", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    worktree.git("mv", "readme.txt", "README.md");
    worktree.write("noise.log", "ignored\n");
    worktree.write("build/out", "ignored\n");
    const { changes } = await plan.drydock.plans.diff(plan.id);
    const shown = changes.map(({ path, operation, from, warnings }) => ({ path, operation, from, warnings }));
    const ignored = ["is ignored by git and does not land"];
    assert.deepEqual(shown, [
      { path: "README.md", operation: "added", from: "readme.txt", warnings: undefined },
      { path: "build", operation: "added", from: undefined, warnings: ignored },
      { path: "noise.log", operation: "added", from: undefined, warnings: ignored },
      { path: "readme.txt", operation: "deleted", from: undefined, warnings: undefined },
    ]);
    await plan.apply();
    assert.equal(workshop.repository.has("noise.log"), false);
    assert.equal(workshop.repository.has("README.md"), true);
  });

  it("shows a patch against the base, with both sides as they are checked out", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write(".gitattributes", "*.txt text eol=crlf\n");
    repository.commitAll("line ends");
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    assert.equal(worktree.read("readme.txt").startsWith("one\r\n"), true);
    worktree.write("readme.txt", worktree.read("readme.txt").replace("two", "2"));
    const patch = (await Array.fromAsync(plan.drydock.plans.patch(plan.id))).join("");
    assert.match(patch, /^-two\r$/m);
    assert.match(patch, /^\+2\r$/m);
    assert.doesNotMatch(patch, /^[-+]one/m);
    await plan.apply();
    assert.equal(repository.read("readme.txt").startsWith("one\r\n2\r\n"), true);
    assert.equal(repository.git("show", "HEAD:readme.txt").startsWith("one\n2\n"), true);
    assert.equal(repository.status(), "");
  });

  it("keeps mode and owner of a file that it changes, but for whether it can be run", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { chmodSync, statSync } = await import("node:fs");
    chmodSync(`${repository.path}/src/app.ts`, 0o600);
    chmodSync(`${repository.path}/src/old.ts`, 0o640);
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    worktree.write("src/app.ts", "changed\n");
    worktree.write("src/old.ts", "#!/bin/sh\n");
    chmodSync(`${worktree.path}/src/old.ts`, 0o755);
    await plan.apply();
    assert.equal(statSync(`${repository.path}/src/app.ts`).mode & 0o777, 0o600);
    assert.equal(statSync(`${repository.path}/src/old.ts`).mode & 0o777, 0o750);
    assert.equal(repository.status(), "");
  });
});
