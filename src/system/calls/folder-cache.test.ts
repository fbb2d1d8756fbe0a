import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { failedWith } from "./errno.ts";
import { Folder } from "./folder.ts";
import { FolderCache } from "./folder-cache.ts";

let root: string;
let folder: FolderCache;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-cache-"));
  mkdirSync(join(root, "a/inner"), { recursive: true });
  writeFileSync(join(root, "a/inner/file"), "");
  folder = new FolderCache(Folder.open(root));
});

afterEach(() => {
  folder.close();
  rmSync(root, { recursive: true, force: true });
});

const openHandles = () => readdirSync("/proc/self/fd").length;

describe("cached folders", () => {
  it("stay usable after whoever asked for them has closed them, and list their names each time", () => {
    for (let round = 0; round < 3; round += 1) {
      using inner = folder.openBelow("a/inner");
      assert.deepEqual(inner.names(), ["file"]);
    }
  });

  it("[X1] are the same ones again, whoever has put another in their place", () => {
    const { ino } = folder.openBelow("a").ownFacts();
    renameSync(join(root, "a"), join(root, "moved"));
    mkdirSync(join(root, "a"));
    assert.equal(folder.openBelow("a").ownFacts().ino, ino);
    assert.equal(folder.openChild("a").ownFacts().ino, ino);
  });

  it("[X1] are never reached through a link, and one that is not there is not kept", () => {
    symlinkSync("a", join(root, "link"));
    assert.throws(
      () => folder.openChild("link"),
      (thrown: unknown) => failedWith(thrown, "ELOOP", "ENOTDIR"),
    );
    assert.equal(folder.openBelowIfThere("later"), undefined);
    mkdirSync(join(root, "later"));
    assert.deepEqual(folder.openBelow("later").names(), []);
  });

  it("are all closed with the folder that keeps them, and beyond a number each is closed by who asked for it", () => {
    const MANY = 200;
    const before = openHandles();
    const many = new FolderCache(Folder.open(root));
    for (let at = 0; at < MANY; at += 1) {
      mkdirSync(join(root, `many-${at}`));
      many.openBelow(`many-${at}`).close();
    }
    const kept = openHandles() - before;
    assert.ok(kept > 1 && kept < MANY, `${kept} are open`);
    many.close();
    assert.equal(openHandles(), before);
  });
});
