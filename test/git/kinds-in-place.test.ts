import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { TestRepository } from "../support/test-repository.ts";
import { GitWorkshop, type OpenPlan } from "./git-workshop.ts";

/** Repositories of every kind, at their own path: docs/strategies.md has the table. */
const skip = process.geteuid?.() === 0 ? false : "only root has a path to the sandbox";
const hasLfs = spawnSync("git-lfs", ["version"]).status === 0;

/** A plan over the checkout of this name, at its own path. */
async function planOver(workshop: GitWorkshop, location: string): Promise<OpenPlan> {
  return await workshop.plan({ resources: [{ name: "app", location, strategy: "overlay" }] });
}

/** Commits inside, lands that and takes it back, all by git's rules. */
async function landsAndIsUndone(workshop: GitWorkshop, location: string): Promise<void> {
  const repository = new TestRepository(join(workshop.base, location));
  const before = repository.git("rev-parse", "HEAD");
  const plan = await planOver(workshop, location);
  const inside = await plan.worktree();
  inside.write("landed.txt", "landed\n");
  inside.git("add", "landed.txt");
  inside.git("commit", "-q", "-m", "inside");
  assert.deepEqual(await plan.changes(), ["modified object .git/refs/heads/main", "added file landed.txt"]);
  await plan.apply();
  assert.equal(repository.git("log", "-1", "--format=%s"), "inside");
  assert.equal(repository.status(), "");
  repository.assertSound();
  await plan.drydock.plans.undo(plan.id);
  assert.equal(repository.head(), before);
  assert.equal(repository.status(), "");
  repository.assertSound();
}

describe("At its own path", { skip }, () => {
  const kinds: { readonly [what: string]: (workshop: GitWorkshop) => string } = {
    "a shallow clone": ({ base, repository }) => {
      repository.git("commit", "-q", "--allow-empty", "-m", "second");
      repository.git("clone", "-q", "--depth=1", `file://${repository.path}`, join(base, "it"));
      return "it";
    },
    "a repository of sha256": ({ base, repository }) => {
      repository.git("init", "-q", "--object-format=sha256", "-b", "main", join(base, "it"));
      const made = new TestRepository(join(base, "it"));
      made.write("file", "file\n");
      made.commitAll("begin");
      return "it";
    },
    "a repository that borrows objects": ({ base, repository }) => {
      repository.git("clone", "-q", "--shared", ".", join(base, "it"));
      return "it";
    },
    "a sparse checkout": ({ repository }) => {
      repository.git("sparse-checkout", "set", "--no-cone", "/*", "!/src");
      return "app";
    },
    "a sparse checkout with a sparse index": ({ repository }) => {
      repository.write("docs/a", "a\n");
      repository.commitAll("docs");
      repository.git("sparse-checkout", "set", "--cone", "--sparse-index", "docs");
      return "app";
    },
  };
  for (const [what, make] of Object.entries(kinds)) {
    it(`[G8] ${what} lands and is undone by git's own rules`, async () => {
      await using workshop = new GitWorkshop();
      await landsAndIsUndone(workshop, make(workshop));
    });
  }

  it("[G8] a shallow clone that is deepened inside is refused by name, and stays sound", async () => {
    await using workshop = new GitWorkshop();
    const { base, repository } = workshop;
    repository.git("commit", "-q", "--allow-empty", "-m", "second");
    repository.git("clone", "-q", "--depth=1", `file://${repository.path}`, join(base, "it"));
    const shallow = new TestRepository(join(base, "it"));
    const plan = await planOver(workshop, "it");
    const inside = await plan.worktree();
    inside.git("fetch", "-q", "--unshallow");
    inside.git("commit", "-q", "--allow-empty", "-m", "inside");
    assert.match((await plan.refusal()).message, /ends elsewhere than that of the original/);
    assert.equal(shallow.git("log", "--format=%s"), "second");
    shallow.assertSound();
  });

  it("[G8] a checkout that is made sparse inside, or otherwise sparse, is refused by name", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await planOver(workshop, "app");
    (await plan.worktree()).git("sparse-checkout", "set", "--no-cone", "/*", "!/src");
    assert.match((await plan.refusal()).message, /leaves other files out of the checkout/);
    repository.git("sparse-checkout", "set", "--no-cone", "/*", "!/src");
    const again = await planOver(workshop, "app");
    (await again.worktree()).git("sparse-checkout", "disable");
    assert.match((await again.refusal()).message, /leaves other files out of the checkout/);
    assert.equal(repository.status(), "");
  });

  it("[G8] a file that a sparse checkout leaves out is named if the plan commits a change of it", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("sparse-checkout", "set", "--no-cone", "/*", "!/src");
    const plan = await planOver(workshop, "app");
    const inside = await plan.worktree();
    const blob = inside.git("hash-object", "-w", "readme.txt");
    inside.git("update-index", "--cacheinfo", `100644,${blob},src/app.ts`);
    inside.git("update-index", "--skip-worktree", "src/app.ts");
    inside.git("commit", "-q", "-m", "inside");
    assert.deepEqual(await plan.conflicts(), [
      "src/app.ts: is marked in the index as not to be looked at (assume-unchanged or skip-worktree)",
    ]);
    assert.equal(repository.git("log", "--format=%s"), "begin");
    repository.assertSound();
  });

  it("[G8] another worktree inside of the checkout lands with all that its index names", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("worktree", "add", "-q", "-b", "inner", "build/inner");
    repository.git("worktree", "add", "-q", "--detach", "build/other");
    const plan = await planOver(workshop, "app");
    const { path } = await plan.worktree();
    const at = (name: string) => new TestRepository(join(path, "build", name));
    // At this path, git finds the repository of the sandbox only if it is told.
    const git = (name: string, ...args: string[]) =>
      at(name).git(`--git-dir=${path}/.git/worktrees/${name}`, `--work-tree=${at(name).path}`, ...args);
    at("inner").write("src/app.ts", "export const app = 2;\n");
    git("inner", "commit", "-q", "-am", "inner");
    at("inner").write("staged", "staged\n");
    git("inner", "add", "staged");
    git("other", "commit", "-q", "--allow-empty", "-m", "without a branch");
    await plan.apply();
    const inner = new TestRepository(join(repository.path, "build/inner"));
    assert.equal(inner.git("log", "-1", "--format=%s"), "inner");
    assert.equal(inner.git("status", "--porcelain"), "A  staged");
    assert.equal(inner.git("show", ":staged"), "staged");
    const other = new TestRepository(join(repository.path, "build/other"));
    assert.equal(other.git("log", "-1", "--format=%s"), "without a branch");
    repository.assertSound();
  });

  it("[G8] large files of git-lfs land with their objects, in the checkout and in the worktree of a branch", {
    skip: hasLfs ? false : "git-lfs is missing",
  }, async () => {
    for (const strategy of ["overlay", "git_worktree"]) {
      await using workshop = new GitWorkshop();
      const { repository } = workshop;
      repository.git("lfs", "install", "--local", "--skip-repo");
      repository.write(".gitattributes", "*.big filter=lfs diff=lfs merge=lfs -text\n");
      repository.write("a.big", "one\n");
      repository.commitAll("large");
      const plan = await workshop.plan({ resources: [{ name: "app", location: "app", strategy }] });
      const inside = await plan.worktree();
      assert.equal(inside.read("a.big"), "one\n");
      inside.write("a.big", "two\n");
      if (strategy === "overlay") inside.git("commit", "-q", "-am", "larger");
      await plan.apply("larger");
      assert.equal(repository.read("a.big"), "two\n");
      assert.equal(repository.status(), "");
      assert.match(repository.git("show", "HEAD:a.big"), /^version https:\/\/git-lfs/);
      assert.equal(repository.git("lfs", "fsck"), "Git LFS fsck OK");
      repository.assertSound();
    }
  });
});
