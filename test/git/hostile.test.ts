import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { TestRepository } from "../support/test-repository.ts";
import { GitWorkshop, IN_PLACE, stateOf } from "./git-workshop.ts";

/**
 * What a program in the worktree does to its own repository must not reach the outside when we look at it or
 * land it.
 */
describe("[G7] The repository in a worktree", () => {
  it("does not make us run its programs: hooks, filters, monitors, helpers of any kind", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    const trap = join(workshop.base, "trapped");
    const program = join(worktree.path, "trap.sh");
    worktree.write("trap.sh", `#!/bin/sh\ntouch '${trap}'\ncat\n`);
    const { chmodSync } = await import("node:fs");
    chmodSync(program, 0o755);
    const settings = [
      "core.fsmonitor",
      "core.sshCommand",
      "core.gitProxy",
      "core.alternateRefsCommand",
      "core.editor",
      "diff.external",
      "filter.trap.clean",
      "filter.trap.smudge",
      "filter.trap.process",
      "merge.trap.driver",
      "diff.trap.textconv",
      "diff.trap.command",
      "gpg.program",
      "uploadpack.packObjectsHook",
      "credential.helper",
    ];
    for (const key of settings) worktree.git("config", key, program);
    worktree.git("config", "core.hooksPath", worktree.path);
    worktree.git("config", "commit.gpgSign", "true");
    for (const hook of [
      "post-checkout",
      "reference-transaction",
      "pre-commit",
      "post-index-change",
      "fsmonitor-watchman",
    ])
      symlinkSync(program, join(worktree.path, ".git", hook));
    worktree.write(".gitattributes", "* filter=trap merge=trap diff=trap\n");
    worktree.write("src/app.ts", "mine\n");
    mkdirSync(join(worktree.path, "nested"));
    worktree.git("-C", "nested", "init", "-q");
    const nested = new TestRepository(join(worktree.path, "nested"));
    for (const key of settings) nested.git("config", key, program);
    rmSync(trap, { force: true });
    await plan.drydock.plans.diff(plan.id);
    workshop.repository.write("theirs.txt", "theirs\n");
    workshop.repository.commitAll("theirs");
    await plan.apply();
    assert.equal(existsSync(trap), false);
    assert.equal(workshop.repository.read("src/app.ts"), "mine\n");
    assert.equal(existsSync(trap), false);
  });

  it("does not fetch what is missing from where it says", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    const trap = join(workshop.base, "trapped");
    worktree.git("config", "extensions.partialClone", "evil");
    worktree.git("config", "remote.evil.promisor", "true");
    worktree.git("config", "remote.evil.url", `ext::sh -c "touch% ${trap}"`);
    worktree.git("config", "protocol.ext.allow", "always");
    worktree.write(".git/refs/heads/missing", `${"1".repeat(40)}\n`);
    worktree.write(".git/HEAD", "ref: refs/heads/missing\n");
    await plan.write("src/app.ts", "mine\n");
    await plan.apply();
    assert.equal(existsSync(trap), false);
    assert.equal(workshop.repository.read("src/app.ts"), "mine\n");
    workshop.repository.assertSound();
  });

  it("[X1] can't make a commit land inside the user's repository", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    const blob = worktree.git("rev-parse", "HEAD:src/app.ts");
    const hooks = treeOf(worktree, `100755 blob ${blob}\tpost-checkout\n`);
    for (const name of [".git", ".GIT", ".git "]) {
      const inner = treeOf(worktree, `040000 tree ${hooks}\thooks\n`);
      const tree = treeOf(worktree, `040000 tree ${inner}\t${name}\n`);
      const commit = worktree.git("commit-tree", tree, "-p", "HEAD", "-m", "evil");
      worktree.git("update-ref", "HEAD", commit);
      await plan.write("src/app.ts", `mine ${name}\n`);
      const before = stateOf(repository);
      assert.match((await plan.refusal()).message, /git fetch failed|would land inside the repository/, name);
      assert.equal(existsSync(join(repository.path, ".git/hooks/post-checkout")), false);
      assert.deepEqual(repository.traces(), []);
      assert.equal(stateOf(repository), before);
      worktree.git("update-ref", "HEAD", `${commit}~1`);
    }
  });

  it("[X1] can't make us follow a link out of it", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    mkdirSync(join(workshop.base, "outside"));
    workshop.repository.write("../outside/secret", "secret\n");
    rmSync(join(worktree.path, "src"), { recursive: true });
    symlinkSync(join(workshop.base, "outside"), join(worktree.path, "src"));
    rmSync(join(worktree.path, ".git"), { recursive: true });
    symlinkSync(join(workshop.repository.path, ".git"), join(worktree.path, ".git"));
    assert.deepEqual(await plan.changes(), [
      "added symlink src",
      "deleted file src/app.ts",
      "deleted file src/old.ts",
    ]);
    await plan.apply();
    assert.equal(workshop.repository.git("ls-tree", "HEAD", "src").startsWith("120000 blob"), true);
    assert.equal(existsSync(join(workshop.base, "outside/secret")), true);
    workshop.repository.assertSound();
  });

  it("is whole again after a restart of work, though a program removed it", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    rmSync(join(worktree.path, ".git"), { recursive: true });
    await plan.write("src/app.ts", "mine\n");
    assert.deepEqual(await plan.changes(), ["modified file src/app.ts"]);
    await plan.drydock.plans.rollback(plan.id);
    assert.equal((await plan.worktree()).status(), "");
    workshop.repository.assertSound();
  });

  it("refuses to be read and written by path", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    for (const path of [".git/config", ".GIT/config", ".git"]) {
      await assert.rejects(plan.write(path, "x"), /is in the sandbox's own repository/);
      await assert.rejects(
        plan.drydock.plans.read(plan.id, "app", path),
        /is in the sandbox's own repository/,
      );
    }
  });
});

function treeOf(repository: TestRepository, entries: string): string {
  repository.write(".git/entries", entries);
  return repository.git("-c", "alias.make=!git mktree < .git/entries", "make");
}

describe("A checkout at its own path, whose programs are hostile", {
  skip: process.geteuid?.() === 0 ? false : "only root has a path to the sandbox",
}, () => {
  it("[G7] runs nothing that programs planted, and refuses what can't be true", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources: [IN_PLACE] });
    const inside = await plan.worktree();
    inside.git("commit", "-q", "--allow-empty", "-m", "inside");
    const marker = join(workshop.base, "ran");
    appendFileSync(
      join(inside.path, ".git/config"),
      `[core]\n\tfsmonitor = touch ${marker}\n\talternateRefsCommand = touch ${marker}\n[filter "x"]\n\tclean = touch ${marker}\n`,
    );
    mkdirSync(join(inside.path, ".git/objects/info"), { recursive: true });
    writeFileSync(join(inside.path, ".git/objects/info/alternates"), "/etc\n");
    assert.match((await plan.refusal()).message, /borrows the objects/);
    writeFileSync(join(inside.path, ".git/objects/info/alternates"), "");
    const later = await workshop.plan({ resources: [IN_PLACE] });
    const there = await later.worktree();
    const head = there.head();
    appendFileSync(join(there.path, ".git/packed-refs"), `${head} refs/heads/../../hooks/post-commit\n`);
    assert.match((await later.refusal()).message, /a name that git does not allow/);
    assert.equal(existsSync(marker), false);
    repository.assertSound();
  });
});
