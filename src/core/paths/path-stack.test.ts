import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { comparePaths, parentPath } from "./byte-path.ts";
import { PathStack, SeenFolders } from "./path-stack.ts";

const path = fc
  .array(fc.constantFrom("a", "a-b", "b", "é"), { minLength: 1, maxLength: 4 })
  .map((names) => names.join("/"));

describe("The folders above the current path", () => {
  it("are each met once, while paths come in path order", () => {
    fc.assert(
      fc.property(fc.uniqueArray(path), (paths) => {
        const folders = paths.toSorted(comparePaths).map(parentPath);
        const seen = new SeenFolders();
        assert.deepEqual(
          folders.filter((folder) => seen.meet(folder)),
          [...new Set(folders)],
        );
      }),
    );
  });

  it("keep their values until the order leaves them", () => {
    const stack = new PathStack<number>();
    stack.add(".", 0);
    stack.add("a", 1);
    assert.equal(stack.find("a/b"), undefined);
    stack.add("a/b", 2);
    assert.equal(stack.find("a")?.value, 1);
    assert.equal(stack.find("a/b"), undefined);
    assert.equal(stack.find(".")?.value, 0);
    assert.equal(stack.find("a"), undefined);
  });
});
