import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { beforeEach, describe, it } from "node:test";
import { ODD_NAME, TreeFixture } from "../../../test/support/tree-fixture.ts";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";

const POINT = failpoint("test.tree-diff");

const trees = TreeFixture.forEachTest();

const original = (path: string) => trees.inOriginal(path);
const sandbox = (path: string) => trees.inSandbox(path);
const folder = (path: string) => mkdirSync(original(path), { recursive: true });
const file = (path: string, content = path) => writeFileSync(original(path), content);

describe("diffTree", () => {
  it("finds nothing in an untouched copy", () => {
    folder("a/b/c");
    file("a/f", "text");
    file(`a/b/${ODD_NAME}`);
    symlinkSync("nowhere", original("a/link"));
    {
      using a = trees.original.openBelow("a");
      a.setTimes(POINT, "f", { mtime: [-86_400, 500] });
    }
    trees.copy();
    const { changes, entries, folderTimes } = trees.diff();
    assert.deepEqual([[...changes], [...entries], [...folderTimes]], [[], [], []]);
  });

  it("finds nothing in files that were only read, or rewritten with what they had at the time they had", () => {
    file("a");
    trees.copy();
    const before = trees.facts("sandbox", "a")!;
    writeFileSync(sandbox("a"), "a");
    trees.setTime("a", before.mtime);
    assert.deepEqual(trees.changes(), []);
  });

  it("[D1] finds files, folders and links that were added, at any depth, empty folders included", () => {
    folder("deep/er/est");
    trees.copy();
    mkdirSync(sandbox("empty"));
    mkdirSync(sandbox("new/empty"), { recursive: true });
    writeFileSync(sandbox("new/file"), "");
    writeFileSync(sandbox("deep/er/est/file"), "");
    symlinkSync("file", sandbox("deep/er/link"));
    assert.deepEqual(trees.changes(), [
      "added file deep/er/est/file",
      "added symlink deep/er/link",
      "added directory empty",
      "added directory new",
      "added directory new/empty",
      "added file new/file",
    ]);
  });

  it("[D1] finds files, folders and links that were deleted, at any depth, empty folders included", () => {
    folder("old/empty");
    folder("deep/er/est");
    file("old/file");
    file("deep/er/est/file");
    symlinkSync("file", original("deep/er/link"));
    folder("empty");
    trees.copy();
    for (const path of ["empty", "old", "deep/er/est/file", "deep/er/link"])
      rmSync(sandbox(path).toString(), { recursive: true });
    assert.deepEqual(trees.changes(), [
      "deleted file deep/er/est/file",
      "deleted symlink deep/er/link",
      "deleted directory empty",
      "deleted directory old",
      "deleted directory old/empty",
      "deleted file old/file",
    ]);
  });

  it("[D1] finds other content: longer, shorter, emptied and of the same length", () => {
    for (const name of ["longer", "shorter", "emptied", "same"]) file(name, "12345");
    trees.copy();
    appendFileSync(sandbox("longer"), "6");
    truncateSync(sandbox("shorter"), 3);
    truncateSync(sandbox("emptied"), 0);
    writeFileSync(sandbox("same"), "54321");
    assert.deepEqual(trees.changes(), [
      "modified file emptied",
      "modified file longer",
      "modified file same",
      "modified file shorter",
    ]);
  });

  it("[D1] finds a file that was moved, and one that was moved over another", () => {
    file("a");
    file("b");
    file("c");
    trees.copy();
    renameSync(sandbox("a"), sandbox("moved"));
    renameSync(sandbox("b"), sandbox("c"));
    assert.deepEqual(trees.changes(), [
      "deleted file a",
      "deleted file b",
      "modified file c",
      "added file moved",
    ]);
  });

  it("[D1] finds names that are not UTF-8, and those with newlines", () => {
    file(ODD_NAME);
    file(`${ODD_NAME}2`);
    trees.copy();
    unlinkSync(sandbox(ODD_NAME));
    appendFileSync(sandbox(`${ODD_NAME}2`), "more");
    writeFileSync(sandbox(`${ODD_NAME}3`), "");
    const shown = "a\\xff\\nb";
    assert.deepEqual(trees.changes(), [
      `deleted file ${shown}`,
      `modified file ${shown}2`,
      `added file ${shown}3`,
    ]);
  });

  it("[D1] finds a change below a path that is longer than the kernel takes at once", () => {
    let path = trees.inOriginal("").toString();
    const name = "n".repeat(200);
    const opened: Folder[] = [Folder.open(path)];
    for (let depth = 0; depth < 25; depth += 1) {
      opened.at(-1)!.createFolder(POINT, name, 0o755);
      opened.push(opened.at(-1)!.openChild(name));
    }
    trees.copy();
    for (const each of opened) each.close();
    path = Array.from({ length: 25 }, () => name).join("/");
    using deepest = trees.sandbox.openBelow(path);
    deepest.createLink(POINT, "link", "target");
    assert.deepEqual(trees.changes(), [`added symlink ${path}/link`]);
  });

  it("[D1] finds a few changes among many names, whatever order they come in", () => {
    for (let at = 0; at < 3000; at += 1) file(`f${at}`, "");
    trees.copy();
    unlinkSync(sandbox("f7"));
    writeFileSync(sandbox("f2999"), "x");
    for (let at = 0; at < 500; at += 1) writeFileSync(sandbox(`g${at}`), "");
    const found = trees.changes();
    assert.equal(found.length, 502);
    assert.deepEqual(
      found.filter((change) => !change.startsWith("added file g")),
      ["modified file f2999", "deleted file f7"],
    );
  });

  it("[D2] finds other content of the same size and with the same modification time", () => {
    file("edited", "12345");
    file("replaced", "12345");
    trees.copy();
    const { mtime } = trees.facts("sandbox", "edited")!;
    const other = trees.facts("sandbox", "replaced")!;
    writeFileSync(sandbox("edited"), "54321");
    trees.setTime("edited", mtime);
    writeFileSync(sandbox("new"), "54321");
    renameSync(sandbox("new"), sandbox("replaced"));
    trees.setTime("replaced", other.mtime);
    assert.deepEqual(trees.changes(), ["modified file edited", "modified file replaced"]);
  });

  it("[D3] finds a link whose target changed, even to one of the same length and content", () => {
    file("1", "same");
    file("2", "same");
    symlinkSync("1", original("link"));
    trees.copy();
    const { mtime } = trees.facts("sandbox", "link")!;
    unlinkSync(sandbox("link"));
    symlinkSync("2", sandbox("link"));
    trees.setTime("link", mtime);
    assert.deepEqual(trees.changes(), ["modified symlink link"]);
  });

  it("[D3] takes a broken link, and one that leads outside, for an entry like any other", () => {
    symlinkSync("nowhere", original("broken"));
    symlinkSync("/etc/hostname", original("outside"));
    trees.copy();
    assert.deepEqual(trees.changes(), []);
    unlinkSync(sandbox("broken"));
    unlinkSync(sandbox("outside"));
    symlinkSync("/", sandbox("outside"));
    symlinkSync("nowhere", sandbox("broken 2"));
    assert.deepEqual(trees.changes(), [
      "deleted symlink broken",
      "added symlink broken 2",
      "modified symlink outside",
    ]);
  });

  for (const [from, to] of [
    ["file", "symlink"],
    ["file", "directory"],
    ["symlink", "file"],
    ["symlink", "directory"],
    ["directory", "file"],
    ["directory", "symlink"],
  ] as const) {
    it(`[D3] finds that a ${from} became a ${to}`, () => {
      make(from, trees.inOriginal("x").toString());
      trees.copy();
      rmSync(sandbox("x").toString(), { recursive: true });
      make(to, sandbox("x").toString());
      const inside = [from, to].includes("directory")
        ? [`${from === "directory" ? "deleted" : "added"} file x/inside`]
        : [];
      assert.deepEqual(trees.changes(), [`typechanged ${from} to ${to} x`, ...inside]);
      assert.deepEqual(
        [...trees.diff().entries].map(({ path, operation }) => `${operation} ${path}`),
        ["replace x"],
      );
    });
  }

  it("takes the time of a file for a change, and that of a folder for none that people see", () => {
    file("f");
    folder("d");
    trees.copy();
    trees.setTime("f", [1000, 1]);
    trees.setTime("d", [1000, 2]);
    assert.deepEqual(trees.changes(), ["modified file f (mtime)"]);
    assert.deepEqual([...trees.diff().folderTimes], [{ path: "d", mtime: [1000, 2] }]);
  });

  it("reads no content of files that nobody touched", () => {
    for (const name of ["a", "b", "c"]) file(name);
    trees.copy();
    trees.setTime("b", [1000, 1]);
    for (const name of ["a", "c"]) unlinkSync(original(name));
    assert.deepEqual(trees.changes(), ["modified file b (mtime)"]);
  });

  it("looks at nothing but the one name where the resource is a single file", () => {
    file("mine");
    file("other");
    trees.copy({ data: "share", filter: (path) => path === "mine" });
    for (const name of ["mine", "other", "new"]) writeFileSync(sandbox(name), "changed");
    assert.deepEqual(trees.changes("mine"), ["modified file mine"]);
  });
});

function make(kind: "file" | "symlink" | "directory", path: string): void {
  if (kind === "file") writeFileSync(path, "content");
  else if (kind === "symlink") symlinkSync("target", path);
  else {
    mkdirSync(path);
    writeFileSync(`${path}/inside`, "content");
  }
}

describe("the entries of a diff", () => {
  const entries = () => [...trees.diff().entries].map(({ path, operation }) => `${operation} ${path}`);

  it("are the topmost changed paths", () => {
    folder("gone/deep");
    folder("stays");
    file("gone/deep/f");
    file("stays/f");
    trees.copy();
    rmSync(sandbox("gone").toString(), { recursive: true });
    mkdirSync(sandbox("new/deep"), { recursive: true });
    writeFileSync(sandbox("new/deep/f"), "");
    appendFileSync(sandbox("stays/f"), "more");
    chmodSync(sandbox("stays"), 0o700);
    assert.deepEqual(entries(), ["delete gone", "add new", "metadata stays", "replace stays/f"]);
  });

  it("have one for a folder that was replaced by another, and none if that holds the same", () => {
    for (const name of ["same", "other"]) {
      folder(`${name}/deep`);
      file(`${name}/deep/f`, "content");
    }
    trees.copy();
    for (const name of ["same", "other"]) {
      cpSync(sandbox(name).toString(), sandbox("copy").toString(), {
        recursive: true,
        preserveTimestamps: true,
      });
      trees.setTime("copy/deep/f", trees.facts("sandbox", `${name}/deep/f`)!.mtime);
      rmSync(sandbox(name).toString(), { recursive: true });
      renameSync(sandbox("copy"), sandbox(name));
    }
    appendFileSync(sandbox("other/deep/f"), "more");
    assert.deepEqual(trees.changes(), ["modified file other/deep/f"]);
    assert.deepEqual(entries(), ["replace other"]);
  });
});

describe("a diff of files with several names", () => {
  beforeEach(() => {
    folder("d");
    file("one", "content");
    linkSync(original("one"), original("d/two"));
    trees.copy();
  });

  it("finds nothing in an untouched copy, where they share an inode too", () => {
    assert.deepEqual(trees.changes(), []);
    assert.equal(trees.facts("sandbox", "one")?.ino, trees.facts("sandbox", "d/two")?.ino);
    assert.equal(trees.facts("sandbox", "one")?.nlink, 2);
  });

  it("[D1] finds an edit under all its names", () => {
    appendFileSync(sandbox("one"), "more");
    assert.deepEqual(trees.changes(), ["modified file d/two", "modified file one"]);
  });

  it("[D1] finds that a name became a file of its own, though its content is the same", () => {
    const { mtime } = trees.facts("sandbox", "one")!;
    unlinkSync(sandbox("one"));
    writeFileSync(sandbox("one"), "content");
    trees.setTime("one", mtime);
    assert.deepEqual(trees.changes(), ["modified file one"]);
    assert.equal([...trees.diff().entries][0]?.operation, "replace");
  });

  it("[D1] finds a name that was added, and where the file is that it belongs to", () => {
    linkSync(sandbox("one"), sandbox("three"));
    const { changes, anchors } = trees.diff();
    assert.deepEqual(
      Array.from(changes, ({ path, operation }) => [path, operation]),
      [["three", "added"]],
    );
    assert.ok(["one", "d/two"].includes(anchors.get(trees.facts("sandbox", "three")!.ino)!));
  });

  it("[D1] finds a name that was deleted, and not the one that stays", () => {
    unlinkSync(sandbox("one"));
    assert.deepEqual(trees.changes(), ["deleted file one"]);
  });
});
