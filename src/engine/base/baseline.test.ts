import assert from "node:assert/strict";
import { linkSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { NEEDS_ROOT, ODD_NAME, TreeFixture } from "../../../test/support/tree-fixture.ts";
import { StateError } from "../../core/errors/errors.ts";
import { bytesFromPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { writeXattrs } from "../../system/calls/xattrs.ts";
import { failpoint } from "../../system/failpoints.ts";
import { Baseline } from "./baseline.ts";
import { statOf } from "./stat-view.ts";

const POINT = failpoint("test.baseline");

const trees = TreeFixture.forEachTest();

const original = (path: string) => trees.inOriginal(path);

function factsAt(baseline: Baseline, path: string) {
  const index = baseline.find(path);
  assert.notEqual(index, undefined, `${path} is not in the baseline`);
  return baseline.facts(index as number);
}

/** Whether the baseline takes an entry with these facts for the untouched copy. */
function isUntouched(baseline: Baseline, path: string, facts: Facts): boolean {
  return baseline.isUntouched(baseline.find(path)!, statOf(facts));
}

describe("a baseline", () => {
  it("says of every entry what the original was, after going through its file", () => {
    mkdirSync(original("a/b"), { recursive: true });
    writeFileSync(original("a/b/f"), "content", { mode: 0o640 });
    writeFileSync(original(ODD_NAME), "");
    symlinkSync(bytesFromPath(ODD_NAME), original("link"));
    writeXattrs(POINT, trees.original, "a", { "user.drydock": "AAE=" }, {});
    trees.original.setTimes(POINT, "link", { mtime: [-1, 999_999_999] });
    trees.copy();
    for (const path of ["a", "a/b", "a/b/f", ODD_NAME, "link", ROOT_PATH]) {
      const { kind, mode, uid, gid, size, nlink, ino, btime, mtime, ctime } = trees.facts("original", path)!;
      const { xattrs, target, ...rest } = factsAt(trees.baseline, path);
      assert.deepEqual(rest, { kind, mode, uid, gid, size, nlink, ino, btime, mtime, ctime });
      assert.deepEqual(xattrs, path === "a" ? { "user.drydock": "AAE=" } : {});
      assert.equal(target, path === "link" ? ODD_NAME : undefined);
    }
  });

  it("remembers the numbers of devices", { skip: NEEDS_ROOT }, () => {
    trees.original.createNode(POINT, "null", { kind: "device", mode: 0o600, rdev: "1:3" } as Facts);
    trees.original.createNode(POINT, "fifo", { kind: "fifo", mode: 0o600, rdev: "0:0" } as Facts);
    trees.copy();
    assert.equal(factsAt(trees.baseline, "null").rdev, "1:3");
    assert.equal("rdev" in factsAt(trees.baseline, "fifo"), false);
  });

  it("finds paths, and none that were not there", () => {
    mkdirSync(original("a"));
    writeFileSync(original("a/f"), "");
    trees.copy();
    const { baseline } = trees;
    assert.equal(baseline.find(ROOT_PATH), baseline.root);
    assert.equal(baseline.name(baseline.find("a/f")!), "f");
    for (const path of ["b", "a/g", "a/f/x", "f"]) assert.equal(baseline.find(path), undefined);
  });

  it("knows what is in each folder, also in an empty one", () => {
    mkdirSync(original("full/empty"), { recursive: true });
    for (const name of ["full/1", "full/2", "full/3"]) writeFileSync(original(name), "");
    trees.copy();
    const { baseline } = trees;
    const names = (path: string) => {
      const [from, to] = baseline.children(baseline.find(path)!);
      return Array.from({ length: to - from }, (_, at) => baseline.name(from + at)).sort();
    };
    assert.deepEqual(names("full"), ["1", "2", "3", "empty"]);
    assert.deepEqual(names("full/empty"), []);
    assert.deepEqual(names(ROOT_PATH), ["full"]);
    assert.deepEqual(
      [baseline.isFolder(baseline.find("full/empty")!), baseline.isFolder(baseline.find("full/1")!)],
      [true, false],
    );
    assert.equal(baseline.count, 6);
  });

  it("grows with the tree", () => {
    for (let folder = 0; folder < 5; folder += 1) {
      mkdirSync(original(`${folder}`));
      for (let at = 0; at < 500; at += 1) writeFileSync(original(`${folder}/${at}`), "");
    }
    trees.copy();
    assert.equal(trees.baseline.count, 2506);
    assert.equal(factsAt(trees.baseline, "4/499").ino, trees.facts("original", "4/499")?.ino);
  });

  it("tells a copy that nobody touched from one whose inode, times, mode or size differ", () => {
    writeFileSync(original("f"), "content");
    writeFileSync(original("linked"), "content");
    linkSync(original("linked"), original("linked too"));
    mkdirSync(original("d"));
    trees.copy();
    const { baseline } = trees;
    for (const path of ["f", "d", "linked", "linked too"]) {
      assert.equal(isUntouched(baseline, path, trees.facts("sandbox", path)!), true, path);
    }
    const facts = trees.facts("sandbox", "f")!;
    const { ctime, mtime } = facts;
    for (const other of [
      { ...facts, ino: facts.ino + 1 },
      { ...facts, size: 8 },
      { ...facts, mode: facts.mode ^ 0o100 },
      { ...facts, kind: "symlink" as const },
      { ...facts, ctime: [ctime[0], ctime[1] + 1] as const },
      { ...facts, ctime: [ctime[0] + 1, ctime[1]] as const },
      { ...facts, mtime: [mtime[0], mtime[1] + 1] as const },
      { ...facts, mtime: [mtime[0] + 1, mtime[1]] as const },
    ]) {
      assert.equal(isUntouched(baseline, "f", other), false);
    }
  });

  it("takes another copy, or another original, for the one to compare with", () => {
    writeFileSync(original("f"), "content");
    trees.copy();
    const { baseline } = trees;
    unlinkSync(trees.inSandbox("f"));
    writeFileSync(trees.inSandbox("f"), "other content");
    const [copy, index] = [trees.facts("sandbox", "f")!, baseline.find("f")!];
    baseline.setCopy(index, copy);
    baseline.setOriginal(index, copy);
    const again = Baseline.fromBytes(baseline.toBytes(), "again");
    assert.deepEqual(again.copy(index), {
      ino: copy.ino,
      btime: copy.btime,
      mode: copy.mode,
      uid: copy.uid,
      gid: copy.gid,
    });
    assert.deepEqual([again.facts(index).size, again.facts(index).ctime], [13, copy.ctime]);
    assert.equal(isUntouched(again, "f", copy), true);
  });

  it("refuses a file that is cut off, too long or of another kind, and says what to do", () => {
    writeFileSync(original("f"), "content");
    trees.copy();
    const bytes = trees.baseline.toBytes();
    const [other, older] = [Buffer.from(bytes), Buffer.from(bytes)];
    other.write("DRYBASE9");
    older.write("DRYBASE1");
    for (const damaged of [
      Buffer.alloc(0),
      bytes.subarray(0, 23),
      bytes.subarray(0, -1),
      Buffer.concat([bytes, Buffer.alloc(1)]),
      other,
      older,
    ]) {
      assert.throws(
        () => Baseline.fromBytes(damaged, "the/file"),
        (thrown) =>
          thrown instanceof StateError &&
          thrown.message.includes("the/file") &&
          thrown.hint.includes("cancel"),
      );
    }
  });

  it("refuses one whose last part is not what was written", () => {
    trees.copy();
    const bytes = trees.baseline.toBytes();
    bytes[bytes.length - 1] = 0;
    assert.throws(() => Baseline.fromBytes(bytes, "the/file"), StateError);
  });
});
