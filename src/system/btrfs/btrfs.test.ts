import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { type MountedImage, mountImage, whyNoImages } from "../../../test/support/file-systems.ts";
import { makeSubvolume, removeWithSubvolumes } from "../../../test/support/subvolumes.ts";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { Folder } from "../calls/folder.ts";
import { failpoint } from "../failpoints.ts";
import {
  createSnapshot,
  deleteSubvolume,
  isOnBtrfs,
  isSubvolume,
  nestedSubvolumes,
  setReadOnly,
} from "./btrfs.ts";

const POINT = failpoint("test.btrfs");

describe("a subvolume of btrfs", { skip: whyNoImages() ?? false }, () => {
  let image: MountedImage;
  let place: string;
  before(() => {
    image = mountImage("btrfs");
  });
  after(() => image.remove());
  beforeEach(() => {
    place = mkdtempSync(join(image.path, "case-"));
    makeSubvolume(join(place, "original"));
    mkdirSync(join(place, "original/folder"));
    writeFileSync(join(place, "original/folder/file"), "old\n");
  });
  afterEach(() => removeWithSubvolumes(place));
  const open = (path: string) => Folder.open(join(place, path));
  const text = (path: string) => readFileSync(join(place, path), "utf8");

  it("is told from a folder in one, and from what is on another file system", () => {
    for (const [path, expected] of [
      [image.path, true],
      [join(place, "original"), true],
      [join(place, "original/folder"), false],
    ] as const) {
      using folder = Folder.open(path);
      assert.deepEqual([isSubvolume(folder), isOnBtrfs(folder)], [expected, true], path);
    }
    const elsewhere = mkdtempSync(join(tmpdir(), "drydock-btrfs-"));
    try {
      using folder = Folder.open(elsewhere);
      assert.deepEqual([isSubvolume(folder), isOnBtrfs(folder)], [false, false]);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it("gets a snapshot with everything that is in it at that instant, which keeps inodes and times", () => {
    using original = open("original");
    using around = open(".");
    createSnapshot(POINT, original, around, "snapshot");
    writeFileSync(join(place, "original/folder/file"), "newer\n");
    writeFileSync(join(place, "snapshot/added"), "added\n");
    assert.equal(text("snapshot/folder/file"), "old\n");
    assert.ok(!existsSync(join(place, "original/added")));
    using there = open("original/folder");
    using here = open("snapshot/folder");
    const [a, b] = [there.ownFacts(), here.ownFacts()];
    assert.deepEqual([a.ino, a.btime, a.mtime, a.ctime], [b.ino, b.btime, b.mtime, b.ctime]);
    assert.notEqual(a.device, b.device);
  });

  it("takes no writing while it is read-only, and does again when it is opened", () => {
    using original = open("original");
    using around = open(".");
    createSnapshot(POINT, original, around, "snapshot", { readOnly: true });
    const write = () => writeFileSync(join(place, "snapshot/folder/file"), "written\n");
    assert.throws(write, { code: "EROFS" });
    using snapshot = open("snapshot");
    setReadOnly(POINT, snapshot, false);
    write();
    setReadOnly(POINT, snapshot, true);
    setReadOnly(POINT, snapshot, true);
    assert.throws(write, { code: "EROFS" });
    assert.equal(text("snapshot/folder/file"), "written\n");
  });

  it("is all that a snapshot is made of, under a name that is not taken", () => {
    using original = open("original");
    using folder = open("original/folder");
    using around = open(".");
    assert.throws(() => createSnapshot(POINT, folder, around, "snapshot"), { code: "EINVAL" });
    assert.throws(() => createSnapshot(POINT, original, around, "original"), { code: "EEXIST" });
    assert.ok(!existsSync(join(place, "snapshot")));
  });

  it("is deleted in one step with all that is in it, read-only or not", () => {
    using original = open("original");
    using around = open(".");
    for (const readOnly of [true, false]) {
      createSnapshot(POINT, original, around, "snapshot", { readOnly });
      assert.ok(deleteSubvolume(POINT, around, "snapshot"));
      assert.ok(!existsSync(join(place, "snapshot")));
    }
    assert.equal(text("original/folder/file"), "old\n");
  });

  it("is not deleted in one step if it is a folder, or holds another, or something is mounted in it; but can be written to then", () => {
    using original = open("original");
    using around = open(".");
    assert.ok(!deleteSubvolume(POINT, original, "folder"));
    makeSubvolume(join(place, "original/nested"));
    setReadOnly(POINT, original, true);
    assert.ok(!deleteSubvolume(POINT, around, "original"));
    writeFileSync(join(place, "original/nested/file"), "still there\n");
    writeFileSync(join(place, "original/folder/file"), "still there\n");
    createSnapshot(POINT, original, around, "snapshot");
    const point = join(place, "snapshot/folder");
    assert.equal(spawnSync("mount", ["-t", "tmpfs", "tmpfs", point]).status, 0);
    try {
      assert.ok(!deleteSubvolume(POINT, around, "snapshot"));
    } finally {
      spawnSync("umount", [point]);
    }
    assert.equal(text("snapshot/folder/file"), "still there\n");
  });

  it("knows those that are directly in it, however many and whatever their names", () => {
    const odd = pathFromBytes(Buffer.from([0x61, 0x20, 0xff, 0xfe]));
    makeSubvolume(join(place, "empty"));
    makeSubvolume(join(place, "original/folder/nested"));
    makeSubvolume(join(place, "original/folder/nested/deeper"));
    using original = open("original");
    using folder = open("original/folder");
    using empty = open("empty");
    for (let at = 0; at < 260; at += 1) createSnapshot(POINT, empty, folder, `many-${at}`);
    createSnapshot(POINT, empty, original, odd);
    assert.ok(statSync(Buffer.concat([Buffer.from(`${place}/original/`), bytesFromPath(odd)])).isDirectory());
    const expected = [
      ...["folder/nested", odd],
      ...Array.from({ length: 260 }, (_, at) => `folder/many-${at}`),
    ];
    assert.deepEqual(nestedSubvolumes(original).toSorted(), expected.toSorted());
    assert.deepEqual(nestedSubvolumes(empty), []);
  });
});
