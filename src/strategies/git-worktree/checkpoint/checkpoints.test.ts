import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { SandboxRef } from "../../../core/sandbox.ts";
import type { StrategyContext } from "../../../core/strategy.ts";
import { GitWorktreeStrategy } from "../git-worktree.ts";

describe("[C6] A checkpoint of a worktree", () => {
  let base: string;
  let strategy: GitWorktreeStrategy;
  let ref: SandboxRef;
  let worktree: string;

  const git = (cwd: string, ...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

  beforeEach(async () => {
    base = mkdtempSync(join(tmpdir(), "drydock-git-checkpoints-"));
    const app = join(base, "app");
    for (const folder of ["app", "state"]) mkdirSync(join(base, folder));
    git(app, "init", "-q");
    writeFileSync(join(app, ".gitattributes"), "*.txt text eol=lf ident\n");
    writeFileSync(join(app, ".gitignore"), "*.log\n");
    for (let n = 0; n < 20; n += 1) writeFileSync(join(app, `${n}.txt`), `$Id$ ${n}\n`);
    git(app, "add", ".");
    git(app, "commit", "-qm", "begin");
    const context: StrategyContext = {
      stateDir: join(base, "state"),
      policy: { allowSetid: false, allowDevices: false },
      recordIntent: async () => undefined,
      failpoint: () => undefined,
      now: () => new Date(),
      progress: () => undefined,
      signal: new AbortController().signal,
    };
    strategy = new GitWorktreeStrategy(context);
    ref = await strategy.create("plan", {
      id: "r",
      name: "app",
      type: "git-checkout",
      location: app,
      properties: {},
    });
    worktree = await strategy.path(ref);
  });

  afterEach(() => rmSync(base, { recursive: true, force: true }));

  /** Everything in the worktree but its own repository, byte for byte. */
  const files = () =>
    execFileSync(
      "sh",
      [
        "-c",
        "find . -path ./.git -prune -o -printf '%p %y %m %l\\n' | sort; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum",
      ],
      {
        cwd: worktree,
        encoding: "utf8",
      },
    );
  const repository = () =>
    [
      git(worktree, "log", "--all", "--format=%H %D"),
      git(worktree, "status", "--porcelain"),
      git(worktree, "stash", "list"),
    ].join();

  it("holds every byte of every file, ignored ones too, and what is in no tree of git's", async () => {
    writeFileSync(join(worktree, "0.txt"), "crlf\r\n$Id: nonsense $\r\n");
    writeFileSync(join(worktree, "made.log"), "ignored\n");
    mkdirSync(join(worktree, "empty/inside"), { recursive: true });
    mkdirSync(join(worktree, "closed"), { mode: 0o700 });
    writeFileSync(join(worktree, "closed/secret"), "x", { mode: 0o600 });
    execFileSync("mkfifo", [join(worktree, "pipe")]);
    mkdirSync(join(worktree, "nested"));
    git(join(worktree, "nested"), "init", "-q");
    writeFileSync(join(worktree, "nested/a"), "in a repository of its own\n");
    const before = files();
    await strategy.checkpoint(ref, "c1");
    writeFileSync(join(worktree, "0.txt"), "worse");
    chmodSync(join(worktree, "1.txt"), 0o600);
    for (const path of ["made.log", "empty", "closed", "pipe", "nested", "2.txt"])
      rmSync(join(worktree, path), { recursive: true });
    writeFileSync(join(worktree, "empty"), "a file now");
    mkdirSync(join(worktree, "pipe/deep"), { recursive: true });
    mkdirSync(join(worktree, "other-nested"));
    git(join(worktree, "other-nested"), "init", "-q");
    for (const time of ["once", "again"]) {
      await strategy.restoreCheckpoint(ref, "c1");
      assert.equal(files(), before, time);
    }
  });

  it("holds the repository in the worktree: branch, commits, index, stash, and what is under way", async () => {
    writeFileSync(join(worktree, "0.txt"), "committed\n");
    git(worktree, "commit", "-qam", "inside");
    writeFileSync(join(worktree, "1.txt"), "stashed\n");
    git(worktree, "stash", "-q");
    writeFileSync(join(worktree, "2.txt"), "staged\n");
    git(worktree, "add", "2.txt");
    const before = [files(), repository()];
    await strategy.checkpoint(ref, "c1");
    git(worktree, "checkout", "-qfb", "other");
    git(worktree, "stash", "drop", "-q");
    git(worktree, "branch", "-qD", "drydock/plan");
    git(worktree, "reflog", "expire", "--expire=now", "--all");
    git(worktree, "gc", "-q", "--prune=now");
    await strategy.restoreCheckpoint(ref, "c1");
    assert.deepEqual([files(), repository()], before);
    assert.equal(git(worktree, "fsck", "--no-dangling"), "");
    rmSync(join(worktree, ".git"), { recursive: true });
    await strategy.restoreCheckpoint(ref, "c1");
    assert.deepEqual([files(), repository()], before);
  });

  it("is not saved again where nothing changed", async () => {
    writeFileSync(join(worktree, "0.txt"), "changed\n");
    const first = await strategy.checkpoint(ref, "c1");
    assert.ok(first.mark !== undefined);
    const second = await strategy.checkpoint(ref, "c2", { id: "c1", mark: first.mark });
    assert.equal(second.isSame, true);
    writeFileSync(join(worktree, "0.txt"), "changed again\n");
    const third = await strategy.checkpoint(ref, "c3", { id: "c1", mark: first.mark });
    assert.notEqual(third.isSame, true);
    await strategy.discardCheckpoint(ref, "c3");
    await assert.rejects(strategy.restoreCheckpoint(ref, "c3"), /no checkpoint c3/);
    await strategy.restoreCheckpoint(ref, "c1");
    assert.match(files(), /0\.txt/);
  });
});
