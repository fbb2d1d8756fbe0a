import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { describe, it } from "node:test";
import { NEEDS_ROOT, TreeFixture } from "../../../test/support/tree-fixture.ts";
import type { EntryKind, Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";

const POINT = failpoint("test.tree-diff");

const trees = TreeFixture.forEachTest();

const original = (path: string) => trees.inOriginal(path).toString();
const sandbox = (path: string) => trees.inSandbox(path).toString();
const file = (path: string) => writeFileSync(original(path), "content");

function program(...[command, ...args]: readonly [string, ...string[]]): void {
  const result = spawnSync(command, args, { encoding: "utf8" });
  assert.equal(result.status, 0, result.stderr);
}

describe("a diff of metadata", () => {
  it("[D4] finds modes that changed, of files, of folders and of the root", () => {
    file("f");
    file("stays");
    mkdirSync(original("d"));
    trees.copy();
    chmodSync(sandbox("f"), 0o751);
    chmodSync(sandbox("d"), 0o2755);
    chmodSync(sandbox("."), 0o700);
    assert.deepEqual(trees.changes(), [
      "modified directory . (mode)",
      "modified directory d (mode)",
      "modified file f (mode)",
    ]);
  });

  it("[D4] finds owners that changed, of links too", { skip: NEEDS_ROOT }, () => {
    file("f");
    file("group");
    mkdirSync(original("d"));
    symlinkSync("f", original("link"));
    trees.copy();
    chownSync(sandbox("f"), 1234, 0);
    chownSync(sandbox("d"), 1234, 5678);
    chownSync(sandbox("group"), 0, 5678);
    lchownSync(sandbox("link"), 1234, 5678);
    assert.deepEqual(trees.changes(), [
      "modified directory d (owner)",
      "modified file f (owner)",
      "modified file group (owner)",
      "modified symlink link (owner)",
    ]);
  });

  it("[D4] keeps the owners of others in the copy, and finds nothing", { skip: NEEDS_ROOT }, () => {
    file("f");
    symlinkSync("f", original("link"));
    chownSync(original("f"), 1234, 5678);
    lchownSync(original("link"), 1234, 5678);
    chmodSync(original("f"), 0o6755);
    trees.copy();
    assert.deepEqual(trees.changes(), []);
    assert.deepEqual([trees.facts("sandbox", "f")?.uid, trees.facts("sandbox", "f")?.mode], [1234, 0o6755]);
  });

  it("[D4] finds extended attributes that were added, changed and removed", () => {
    for (const name of ["added", "changed", "removed", "stays"]) file(name);
    mkdirSync(original("d"));
    for (const name of ["changed", "removed", "stays"])
      program("setfattr", "-n", "user.drydock", "-v", "1", original(name));
    trees.copy();
    assert.deepEqual(trees.changes(), []);
    program("setfattr", "-n", "user.drydock", "-v", "1", sandbox("added"), sandbox("d"));
    program("setfattr", "-n", "user.drydock", "-v", "2", sandbox("changed"));
    program("setfattr", "-x", "user.drydock", sandbox("removed"));
    assert.deepEqual(trees.changes(), [
      "modified file added (xattrs)",
      "modified file changed (xattrs)",
      "modified directory d (xattrs)",
      "modified file removed (xattrs)",
    ]);
    const [added] = trees.diff().changes;
    assert.deepEqual(added?.xattrs, { "user.drydock": Buffer.from("1").toString("base64") });
  });

  it("[D4] finds access control lists that changed, default ones of folders included", () => {
    file("f");
    file("stays");
    mkdirSync(original("d"));
    program("setfacl", "-m", "u:1234:r", original("stays"));
    trees.copy();
    assert.deepEqual(trees.changes(), []);
    program("setfacl", "-m", "u:1234:r", sandbox("f"));
    program("setfacl", "-d", "-m", "u:1234:rwx", sandbox("d"));
    assert.deepEqual(trees.changes(), ["modified directory d (xattrs)", "modified file f (xattrs)"]);
  });

  it("[D4] finds file capabilities that changed", { skip: NEEDS_ROOT }, () => {
    for (const name of ["given", "taken", "stays"]) file(name);
    for (const name of ["taken", "stays"]) program("setcap", "cap_net_raw+ep", original(name));
    trees.copy();
    assert.deepEqual(trees.changes(), []);
    program("setcap", "cap_net_raw+ep", sandbox("given"));
    program("setcap", "-r", sandbox("taken"));
    assert.deepEqual(trees.changes(), ["modified file given (xattrs)", "modified file taken (xattrs)"]);
  });

  it("[D4] finds trusted attributes that changed", { skip: NEEDS_ROOT }, () => {
    file("f");
    trees.copy();
    program("setfattr", "-n", "trusted.drydock", "-v", "1", sandbox("f"));
    assert.deepEqual(trees.changes(), ["modified file f (xattrs)"]);
  });

  it("[D4] names everything that changed, and content alone where that did too", () => {
    file("metadata");
    file("content");
    trees.copy();
    for (const name of ["metadata", "content"]) {
      chmodSync(sandbox(name), 0o600);
      program("setfattr", "-n", "user.drydock", "-v", "1", sandbox(name));
    }
    writeFileSync(sandbox("content"), "other content");
    trees.setTime("metadata", [1000, 0]);
    assert.deepEqual(trees.changes(), [
      "modified file content",
      "modified file metadata (mode, xattrs, mtime)",
    ]);
  });
});

function node(at: Folder, name: string, kind: EntryKind, rdev = "0:0"): void {
  at.createNode(POINT, name, { kind, mode: 0o644, rdev } as Facts);
}

describe("a diff of fifos and sockets", () => {
  for (const kind of ["fifo", "socket"] as const) {
    it(`[D5] carries a ${kind} and finds it added, deleted, retyped and with another mode, without waiting for it`, () => {
      for (const name of ["deleted", "retyped", "mode", "stays"]) node(trees.original, name, kind);
      file("was a file");
      trees.copy();
      assert.deepEqual(trees.changes(), []);
      assert.deepEqual(readdirSync(sandbox("")).sort(), [
        "deleted",
        "mode",
        "retyped",
        "stays",
        "was a file",
      ]);
      for (const name of ["deleted", "retyped", "was a file"]) unlinkSync(sandbox(name));
      node(trees.sandbox, "added", kind);
      node(trees.sandbox, "was a file", kind);
      writeFileSync(sandbox("retyped"), "");
      chmodSync(sandbox("mode"), 0o600);
      assert.deepEqual(trees.changes(), [
        `added ${kind} added`,
        `deleted ${kind} deleted`,
        `modified ${kind} mode (mode)`,
        `typechanged ${kind} to file retyped`,
        `typechanged file to ${kind} was a file`,
      ]);
    });
  }
});

describe("a diff of devices", { skip: NEEDS_ROOT }, () => {
  it("[D5] carries devices of both kinds with their numbers, and finds nothing in the copy", () => {
    node(trees.original, "null", "device", "1:3");
    node(trees.original, "large", "device", "4000:70000");
    node(trees.original, "block", "block-device", "7:300");
    trees.copy();
    assert.deepEqual(trees.changes(), []);
    assert.deepEqual(
      ["null", "large", "block"].map((name) => [
        trees.facts("sandbox", name)?.kind,
        trees.facts("sandbox", name)?.rdev,
      ]),
      [
        ["device", "1:3"],
        ["device", "4000:70000"],
        ["block-device", "7:300"],
      ],
    );
  });

  it("[D5] finds devices that were added, deleted and retyped", () => {
    for (const name of ["deleted", "now block", "now a file"]) node(trees.original, name, "device", "1:3");
    trees.copy();
    for (const name of ["deleted", "now block", "now a file"]) unlinkSync(sandbox(name));
    node(trees.sandbox, "added", "device", "1:3");
    node(trees.sandbox, "now block", "block-device", "1:3");
    writeFileSync(sandbox("now a file"), "");
    assert.deepEqual(trees.changes(), [
      "added device added",
      "deleted device deleted",
      "typechanged device to file now a file",
      "typechanged device to block-device now block",
    ]);
  });

  it("[D5] finds a device with another number, even if it got the inode of the one before", () => {
    node(trees.original, "null", "device", "1:3");
    trees.copy();
    const before = trees.facts("sandbox", "null")!;
    unlinkSync(sandbox("null"));
    node(trees.sandbox, "null", "device", "1:5");
    trees.setTime("null", before.mtime);
    assert.deepEqual(trees.changes(), ["typechanged device to device null"]);
  });

  it("[D5] finds nothing in a device that was made again with the number it had", () => {
    node(trees.original, "null", "device", "1:3");
    trees.copy();
    const before = trees.facts("sandbox", "null")!;
    unlinkSync(sandbox("null"));
    node(trees.sandbox, "null", "device", "1:3");
    trees.setTime("null", before.mtime);
    assert.deepEqual(trees.changes(), []);
  });
});
