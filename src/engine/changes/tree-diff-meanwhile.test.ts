import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { beforeEach, describe, it } from "node:test";
import { TreeFixture } from "../../../test/support/tree-fixture.ts";

const trees = TreeFixture.forEachTest();

/**
 * What a diff finds if this happens right after the nth folder was listed, and before anything in it was
 * looked at.
 */
function changesWhile(nth: number, act: () => void): string[] {
  let listed = 0;
  return trees.changes(undefined, () => {
    listed += 1;
    if (listed === nth) act();
  });
}

const remove = (path: string) => rmSync(trees.inSandbox(path).toString(), { recursive: true });

describe("a diff of a sandbox in which somebody is at work", () => {
  beforeEach(() => {
    mkdirSync(trees.inOriginal("folder/deep"), { recursive: true });
    writeFileSync(trees.inOriginal("file"), "content");
    symlinkSync("target", trees.inOriginal("link"));
    trees.copy();
  });

  it("takes a file and a link for deleted that go after they were listed", () => {
    for (const name of ["file", "link"]) trees.setTime(name, [1000, 1]);
    const found = changesWhile(1, () => {
      for (const name of ["file", "link"]) remove(name);
    });
    assert.deepEqual(found, ["deleted file file", "deleted symlink link"]);
  });

  it("takes a folder for deleted that goes after it was listed, with all that was in it", () => {
    assert.deepEqual(
      changesWhile(1, () => remove("folder")),
      ["deleted directory folder", "deleted directory folder/deep"],
    );
  });

  it("takes a folder for deleted in whose place a link is put, and never follows that", () => {
    const replace = () => {
      remove("folder");
      symlinkSync("/", trees.inSandbox("folder"));
    };
    assert.deepEqual(changesWhile(1, replace), ["deleted directory folder", "deleted directory folder/deep"]);
    assert.deepEqual(trees.changes(), [
      "typechanged directory to symlink folder",
      "deleted directory folder/deep",
    ]);
  });

  it("finds a new folder without what goes from it", () => {
    // So that the new folder is the second to be listed.
    remove("folder");
    mkdirSync(trees.inSandbox("new/gone/deep"), { recursive: true });
    writeFileSync(trees.inSandbox("new/stays"), "");
    assert.deepEqual(
      changesWhile(2, () => remove("new/gone")),
      [
        "deleted directory folder",
        "deleted directory folder/deep",
        "added directory new",
        "added file new/stays",
      ],
    );
  });

  it("passes on an error that has another cause", () => {
    trees.setTime("file", [1000, 1]);
    rmSync(trees.inOriginal("file"));
    assert.throws(() => trees.changes(), /original\/file: no such file/);
  });

  it("tells how far it is while it compares the files of one folder", () => {
    trees.remove();
    trees.make();
    for (const name of ["a", "b", "c"]) writeFileSync(trees.inOriginal(name), "content");
    trees.copy();
    for (const name of ["a", "b", "c"]) trees.setTime(name, [1000, 1]);
    const told: number[] = [];
    trees.diff(undefined, (entries) => told.push(entries));
    assert.deepEqual(told, [0, 1, 1, 1]);
  });

  it("stops where the caller throws", () => {
    assert.throws(
      () =>
        changesWhile(2, () => {
          throw new Error("enough");
        }),
      /enough/,
    );
  });
});
