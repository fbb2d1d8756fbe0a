import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  AtomicCommitError,
  BusyError,
  GitError,
  type PreparedCommit,
  type StrategyContext,
} from "../../src/index.ts";
import { GitWorktreeStrategy } from "../../src/strategies/git-worktree/git-worktree.ts";
import { GitWorkshop, stateOf } from "./git-workshop.ts";

/** A strategy of its own for a test that acts between the steps. */
async function sandboxIn(workshop: GitWorkshop) {
  const stateDir = join(workshop.base, "own-state");
  mkdirSync(stateDir);
  const context: StrategyContext = {
    stateDir,
    policy: { allowSetid: false, allowDevices: false },
    recordIntent: async () => undefined,
    failpoint: () => undefined,
    now: () => new Date(),
    progress: () => undefined,
    signal: new AbortController().signal,
  };
  const fresh = () => new GitWorktreeStrategy(context);
  const location = workshop.repository.path;
  const ref = await fresh().create("plan", {
    id: "r",
    name: "app",
    type: "git-checkout",
    location,
    properties: {},
  });
  const transaction = { id: "t1", planId: "plan", direction: "commit" } as const;
  const prepare = async (): Promise<PreparedCommit> => {
    const prepared = await fresh().prepare(ref, transaction);
    assert.ok(prepared !== null);
    return prepared;
  };
  return {
    fresh,
    ref,
    transaction,
    prepare,
    write: (path: string, text: string) => fresh().write(ref, path, Buffer.from(text)),
  };
}

describe("Locks of a repository", () => {
  it("are held from prepare on, so that nobody moves the branch meanwhile, and gone afterwards", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { fresh, ref, transaction, prepare, write } = await sandboxIn(workshop);
    await write("src/app.ts", "mine\n");
    const prepared = await prepare();
    assert.deepEqual(repository.traces().sort(), ["HEAD.lock", "index.lock", "refs/heads/main.lock"]);
    repository.write("theirs.txt", "theirs\n");
    assert.throws(() => repository.git("add", "theirs.txt"), /index\.lock/);
    assert.throws(() => repository.git("update-ref", "refs/heads/main", "HEAD~0", "HEAD", "--no-deref"));
    assert.equal(repository.status(), "?? theirs.txt");
    await fresh().commitPrepared(ref, transaction, prepared);
    assert.deepEqual(repository.traces(), []);
    assert.equal(repository.read("src/app.ts"), "mine\n");
    repository.assertSound();
  });

  it("[A7] are gone when what was prepared is taken back, by whoever and without being told what it was", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { fresh, ref, transaction, prepare, write } = await sandboxIn(workshop);
    await write("src/app.ts", "mine\n");
    const before = stateOf(repository);
    await prepare();
    await fresh().rollbackPrepared(ref, transaction);
    await fresh().rollbackPrepared(ref, transaction);
    assert.deepEqual(repository.traces(), []);
    assert.equal(stateOf(repository), before);
    assert.equal(Buffer.from(await fresh().read(ref, "src/app.ts")).toString(), "mine\n");
  });

  it("of somebody else are waited for, then reported, and never taken away", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    for (const lock of ["index.lock", "HEAD.lock", "refs/heads/main.lock"]) {
      repository.write(`.git/${lock}`, "somebody's\n");
      const { cause, message } = await plan.refusal();
      assert.ok(cause instanceof BusyError);
      assert.match(message, /A git process is changing/);
      assert.equal(repository.read(`.git/${lock}`), "somebody's\n");
      assert.deepEqual(repository.traces(), [lock]);
      rmSync(join(repository.path, ".git", lock));
    }
    await plan.apply();
    repository.assertSound();
  });

  it("that somebody took away after prepare are reported; nothing of theirs is overwritten", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { fresh, ref, transaction, prepare, write } = await sandboxIn(workshop);
    await write("src/app.ts", "mine\n");
    const prepared = await prepare();
    for (const lock of repository.traces()) rmSync(join(repository.path, ".git", lock));
    repository.write("theirs.txt", "theirs\n");
    const theirs = repository.commitAll("theirs");
    const { attention } = await fresh().commitPrepared(ref, transaction, prepared);
    assert.match(
      attention.map(({ message }) => message).join("\n"),
      /removed the lock on the index.*\n.*removed the lock on main/,
    );
    assert.equal(repository.head(), theirs);
    assert.deepEqual(repository.traces(), []);
    repository.assertSound();
  });
});

describe("[A19] A file that somebody changes after prepare", () => {
  it("is left as it is and named, while the branch and the index move", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { fresh, ref, transaction, prepare, write } = await sandboxIn(workshop);
    await write("src/app.ts", "mine\n");
    await write("readme.txt", "mine\n");
    await write("new.txt", "mine\n");
    const prepared = await prepare();
    repository.write("src/app.ts", "dirty\n");
    repository.write("new.txt", "untracked\n");
    const { attention } = await fresh().commitPrepared(ref, transaction, prepared);
    assert.deepEqual(attention.map(({ path }) => path).sort(), ["new.txt", "src/app.ts"]);
    assert.equal(repository.read("src/app.ts"), "dirty\n");
    assert.equal(repository.read("new.txt"), "untracked\n");
    assert.equal(repository.read("readme.txt"), "mine\n");
    assert.equal(repository.git("show", "HEAD:src/app.ts"), "mine");
    assert.equal(repository.status(), " M new.txt\n M src/app.ts");
    const again = await fresh().commitPrepared(ref, transaction, prepared);
    assert.deepEqual(again.attention, attention);
    assert.equal(repository.read("src/app.ts"), "dirty\n");
    repository.assertSound();
  });

  it("is not deleted if the plan deletes it", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { fresh, ref, transaction, prepare } = await sandboxIn(workshop);
    rmSync(join(String(ref.metadata["path"]), "src"), { recursive: true });
    const prepared = await prepare();
    repository.write("src/app.ts", "dirty\n");
    const { attention } = await fresh().commitPrepared(ref, transaction, prepared);
    assert.equal(attention.length, 1);
    assert.equal(repository.read("src/app.ts"), "dirty\n");
    repository.assertSound();
  });
});

describe("A landing that is given up after it began", () => {
  it("gives back files, index and branch", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const { fresh, ref, transaction, prepare, write } = await sandboxIn(workshop);
    await write("src/app.ts", "mine\n");
    await write("new.txt", "mine\n");
    const before = repository.head();
    const prepared = await prepare();
    await fresh().commitPrepared(ref, transaction, prepared);
    await fresh().rollbackPrepared(ref, transaction);
    assert.equal(repository.head(), before);
    assert.equal(repository.status(), "");
    assert.equal(repository.read("src/app.ts"), "export const app = 1;\n");
    assert.equal(repository.has("new.txt"), false);
    assert.equal(Buffer.from(await fresh().read(ref, "src/app.ts")).toString(), "mine\n");
    repository.assertSound();
  });
});

describe("[G3] A git that hangs or fails", () => {
  /** A git that does this for some commands, and the real thing for the others. */
  function fakeGit(workshop: GitWorkshop, pattern: string, instead: string): string {
    const folder = join(workshop.base, "bin");
    mkdirSync(folder, { recursive: true });
    const script = `#!/bin/sh\ncase " $* " in *" ${pattern} "*) ${instead};; esac\nexec /usr/bin/git "$@"\n`;
    writeFileSync(join(folder, "git"), script);
    chmodSync(join(folder, "git"), 0o755);
    return `${folder}:${process.env["PATH"]}`;
  }

  for (const command of ["read-tree", "rev-parse"]) {
    it(`is ended and reported when it makes the sandbox (${command})`, async () => {
      await using workshop = new GitWorkshop();
      const started = join(workshop.base, "started");
      const path = fakeGit(workshop, command, `echo $$ >> '${started}'; exec sleep 1000`);
      workshop.repository.write("../drydock.yaml", "sandbox: { git: { timeout: 1s } }\n");
      const drydock = await workshop.open({ config: "drydock.yaml", environment: { PATH: path } });
      const request = { location: "app", strategy: "git_worktree" };
      await assert.rejects(drydock.plans.create({ resources: [request] }), (thrown: Error) => {
        assert.match(thrown.message, /had nothing to say for 1 seconds and was ended/);
        return true;
      });
      assert.deepEqual(workshop.ownRefs(), []);
      for (const pid of readFileSync(started, "utf8").trim().split("\n"))
        assert.equal(existsSync(`/proc/${pid}/cwd`), false);
    });
  }

  for (const command of ["write-tree", "merge-tree", "checkout-index", "fetch", "commit-tree"]) {
    it(`leaves everything as it was when it prepares (${command})`, async () => {
      await using workshop = new GitWorkshop();
      const { repository } = workshop;
      const real = await workshop.plan();
      await real.write("src/app.ts", "mine\n");
      repository.write("theirs.txt", "theirs\n");
      repository.commitAll("theirs");
      const before = stateOf(repository);
      repository.write("../drydock.yaml", "sandbox: { git: { timeout: 1s } }\n");
      for (const instead of ["exec sleep 1000", "echo no such luck >&2; exit 99"]) {
        const environment = { PATH: fakeGit(workshop, command, instead) };
        const drydock = await workshop.open({ config: "drydock.yaml", environment });
        await assert.rejects(drydock.plans.apply(real.id), (thrown) => {
          assert.ok(thrown instanceof AtomicCommitError && thrown.cause instanceof GitError, String(thrown));
          assert.match(
            thrown.message,
            /had nothing to say for 1 seconds|failed with exit code 99: no such luck/,
          );
          return true;
        });
        assert.equal(stateOf(repository), before);
        assert.deepEqual(repository.traces(), []);
      }
      await real.apply();
      assert.equal(repository.read("src/app.ts"), "mine\n");
      repository.assertSound();
    });
  }

  it("does not keep a landing that was decided from its end", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    repository.write("../drydock.yaml", "sandbox: { git: { timeout: 1s } }\n");
    const environment = { PATH: fakeGit(workshop, "add", "exec sleep 1000") };
    const drydock = await workshop.open({ config: "drydock.yaml", environment });
    await drydock.plans.apply(plan.id);
    assert.equal(repository.read("src/app.ts"), "mine\n");
    assert.equal(repository.status(), "");
    repository.assertSound();
  });

  it("is looked for on the PATH, and its absence is a reason", async () => {
    await using workshop = new GitWorkshop();
    const path = fakeGit(workshop, "version", "echo git version 2.30.2; exit 0");
    const drydock = await workshop.open({ environment: { PATH: path } });
    const create = () => drydock.plans.create({ resources: [{ location: "app", strategy: "git_worktree" }] });
    await assert.rejects(create, /git 2\.30 is too old/);
  });
});
