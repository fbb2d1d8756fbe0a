import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Folder } from "../../../system/calls/folder.ts";
import { programCommit, programsUnderWay } from "./program-refs.ts";

const a = "a".repeat(40);
const b = "b".repeat(64);

describe("programCommit", () => {
  let worktree: string;
  let folder: Folder;

  beforeEach(() => {
    worktree = mkdtempSync(join(tmpdir(), "drydock-refs-"));
    folder = Folder.open(worktree);
  });

  afterEach(() => {
    folder.close();
    rmSync(worktree, { recursive: true, force: true });
  });

  function put(path: string, text: string): void {
    mkdirSync(dirname(join(worktree, ".git", path)), { recursive: true });
    writeFileSync(join(worktree, ".git", path), text);
  }

  it("finds a commit by a branch of its own file, by packed refs, and where there is no branch", () => {
    put("HEAD", "ref: refs/heads/drydock/x\n");
    put("packed-refs", `# pack-refs with: sorted \n${b} refs/heads/drydock/x\n^${a}\n`);
    assert.equal(programCommit(folder), b);
    put("refs/heads/drydock/x", `${a}\n`);
    assert.equal(programCommit(folder), a);
    put("HEAD", `${a}\n`);
    assert.equal(programCommit(folder), a);
  });

  it("finds none where refs are broken, go in circles, or lead elsewhere", () => {
    assert.equal(programCommit(folder), undefined);
    for (const text of [
      "",
      "ref: refs/heads/none\n",
      "ref: refs/../HEAD\n",
      "ref: /etc/passwd\n",
      "nonsense",
      `${a}${a}`,
    ]) {
      put("HEAD", text);
      assert.equal(programCommit(folder), undefined, text);
    }
    put("HEAD", "ref: refs/heads/a\n");
    put("refs/heads/a", "ref: refs/heads/b\n");
    put("refs/heads/b", "ref: refs/heads/a\n");
    assert.equal(programCommit(folder), undefined);
    rmSync(join(worktree, ".git/HEAD"));
    put("real-head", `${a}\n`);
    symlinkSync("real-head", join(worktree, ".git/HEAD"));
    assert.equal(programCommit(folder), undefined);
  });

  it("knows what is under way", () => {
    assert.equal(programsUnderWay(folder), undefined);
    put("MERGE_HEAD", `${a}\n`);
    assert.equal(programsUnderWay(folder), "a merge");
  });
});
