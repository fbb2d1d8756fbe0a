import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { GitError } from "../../core/errors/errors.ts";
import { failpoint } from "../failpoints.ts";
import { Git, lineOf } from "./git.ts";

describe("Git", () => {
  let folder: string;
  const POINT = failpoint("git.commit-tree");
  const environment = {
    PATH: process.env["PATH"],
    GIT_DIR: "/nowhere",
    GIT_AUTHOR_NAME: "evil",
    LANG: "de_DE.UTF-8",
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-run-git-"));
    execFileSync("git", ["init", "-q", folder]);
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const place = () => ({ gitDir: join(folder, ".git"), workTree: folder });

  it("runs commands on a repository, whatever the user's environment says", async () => {
    const git = new Git(environment);
    writeFileSync(join(folder, "a"), "a\n");
    await git.change(POINT, place(), ["update-index", "--add", "-z", "--stdin"], {
      input: Buffer.from("a\0"),
    });
    assert.equal(await git.line(place(), ["ls-files"]), "a");
    assert.equal(lineOf(await git.discover(folder, ["rev-parse", "--show-toplevel"])), folder);
    assert.match(await git.version(folder), /^git version \d/);
  });

  it("uses another index where it is told to", async () => {
    const git = new Git(environment);
    const index = join(folder, "other-index");
    writeFileSync(join(folder, "a"), "a\n");
    await git.change(POINT, { ...place(), index }, ["update-index", "--add", "a"]);
    assert.equal(await git.line(place(), ["ls-files"]), "");
    assert.equal(await git.line({ ...place(), index }, ["ls-files"]), "a");
  });

  it("runs no hook and no monitor that the repository names", async () => {
    const trap = join(folder, "trap");
    const program = join(folder, "program");
    writeFileSync(program, `#!/bin/sh\ntouch '${trap}'\n`);
    chmodSync(program, 0o755);
    mkdirSync(join(folder, ".git/hooks"), { recursive: true });
    writeFileSync(join(folder, ".git/hooks/reference-transaction"), `#!/bin/sh\ntouch '${trap}'\n`);
    chmodSync(join(folder, ".git/hooks/reference-transaction"), 0o755);
    execFileSync("git", ["-C", folder, "config", "core.fsmonitor", program]);
    const git = new Git(environment);
    const tree = await git.line(place(), ["write-tree"]);
    const identity = {
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a",
    };
    const commit = await git.line(place(), ["commit-tree", tree, "-m", "x"], { environment: identity });
    await git.change(POINT, place(), ["update-ref", "refs/heads/x", commit]);
    await git.look(place(), ["status"]);
    assert.throws(() => chmodSync(trap, 0o600));
  });

  it("[G3] fails with the command, its exit code and what it said", async () => {
    const git = new Git(environment);
    await assert.rejects(git.look(place(), ["rev-parse", "--verify", "no-such"]), (thrown) => {
      assert.ok(thrown instanceof GitError);
      assert.equal(
        thrown.message,
        "git rev-parse failed with exit code 128: fatal: Needed a single revision",
      );
      assert.deepEqual(thrown.details, {
        command: "git rev-parse --verify no-such",
        exitCode: 128,
        said: "fatal: Needed a single revision",
      });
      return true;
    });
    const { code } = await git.look(place(), ["rev-parse", "--verify", "no-such"], { answers: [128] });
    assert.equal(code, 128);
  });

  it("[G3] is ended when it says nothing for too long", async () => {
    writeFileSync(join(folder, "git"), "#!/bin/sh\necho waiting for godot >&2\nexec sleep 1000\n");
    chmodSync(join(folder, "git"), 0o755);
    const git = new Git({ PATH: `relative:${folder}:/usr/bin` }, 300);
    await assert.rejects(git.look(place(), ["status"]), (thrown) => {
      assert.ok(thrown instanceof GitError);
      assert.equal(thrown.code, "GIT_TIMEOUT");
      assert.match(
        thrown.message,
        /^git status had nothing to say for 0\.3 seconds and was ended: waiting for godot/,
      );
      return true;
    });
  });

  it("tells how far it is", async () => {
    const script =
      "#!/bin/sh\nprintf 'Updating files:  50%% (1/2)\\rUpdating files: 100%% (2/2)\\n' >&2\nexit 1\n";
    writeFileSync(join(folder, "git"), script);
    chmodSync(join(folder, "git"), 0o755);
    const git = new Git({ PATH: folder });
    let last: readonly number[] = [];
    const onProgress = (...told: readonly number[]) => {
      last = told;
    };
    await assert.rejects(
      git.look(place(), ["checkout"], { onProgress }),
      /failed with exit code 1: it did not say why/,
    );
    assert.deepEqual(last, [2, 2]);
  });
});
