import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { removeTree } from "./remove-tree.ts";
import { walkBelow, walkFrom } from "./walk.ts";

class Tree implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "drydock-walk-"));
  readonly folder = Folder.open(this.path);

  constructor() {
    for (const path of ["b", "b/inner", "a"]) mkdirSync(join(this.path, path));
    for (const path of ["b/inner/file", "b/file", "z"]) writeFileSync(join(this.path, path), path);
    symlinkSync("b", join(this.path, "link"));
  }

  [Symbol.dispose](): void {
    this.folder.close();
    rmSync(this.path, { recursive: true, force: true });
  }
}

describe("a walk", () => {
  it("visits each entry once, a folder before its contents, and follows no link", () => {
    using tree = new Tree();
    const paths = [...walkBelow(tree.folder)].map(({ path }) => path);
    assert.deepEqual(paths, ["a", "b", "link", "z", "b/file", "b/inner", "b/inner/file"]);
    assert.deepEqual(
      [...walkFrom(tree.folder, "b/inner")].map(({ path }) => path),
      ["b/inner", "b/inner/file"],
    );
    assert.deepEqual(
      [...walkFrom(tree.folder, "z")].map(({ facts }) => facts.kind),
      ["file"],
    );
    assert.deepEqual([...walkFrom(tree.folder, "gone")], []);
    assert.deepEqual([...walkBelow(tree.folder, "gone")], []);
  });

  it("skips the contents of a folder that it may not enter, or that vanishes meanwhile", () => {
    using tree = new Tree();
    const enters = ({ name }: { readonly name: string }) => name !== "inner";
    const paths = [...walkBelow(tree.folder, "b", { enters })].map(({ path }) => path);
    assert.deepEqual(paths, ["b/file", "b/inner"]);
    const seen: string[] = [];
    for (const { path } of walkBelow(tree.folder)) {
      seen.push(path);
      if (path === "b/file") rmSync(join(tree.path, "b/inner"), { recursive: true });
    }
    assert.deepEqual(seen, ["a", "b", "link", "z", "b/file"]);
  });

  it("goes as deep as a program can make folders", () => {
    using tree = new Tree();
    const depth = 1500;
    let folder = tree.folder.duplicate();
    for (let level = 0; level < depth; level += 1) {
      folder.createFolder(failpoint("test.deep"), "d", 0o700);
      const below = folder.openChild("d");
      folder.close();
      folder = below;
    }
    folder.close();
    assert.equal([...walkBelow(tree.folder, "d")].length, depth - 1);
    removeTree(failpoint("test.deep"), tree.folder, "d");
  });
});
