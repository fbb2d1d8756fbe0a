import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { kindOf, operationOf, parseRaw, sameBlob } from "./tree-changes.ts";

const a = "a".repeat(40);
const b = "b".repeat(40);
const none = "0".repeat(40);

describe("parseRaw", () => {
  it("tells added, changed, deleted and moved paths apart", () => {
    const changes = parseRaw([
      `:000000 100644 ${none} ${a} A`,
      "new",
      `:100644 000000 ${a} ${none} D`,
      "gone",
      `:100644 100755 ${a} ${b} M`,
      "odd\n\udcff",
      `:100644 120000 ${a} ${b} T`,
      "link",
      `:100644 100644 ${a} ${b} R090`,
      "from",
      "to",
    ]);
    assert.deepEqual(changes, [
      { path: "new", after: { mode: "100644", id: a } },
      { path: "gone", before: { mode: "100644", id: a } },
      { path: "odd\n\udcff", before: { mode: "100644", id: a }, after: { mode: "100755", id: b } },
      { path: "link", before: { mode: "100644", id: a }, after: { mode: "120000", id: b } },
      { path: "from", before: { mode: "100644", id: a } },
      { path: "to", after: { mode: "100644", id: b }, from: "from" },
    ]);
    assert.deepEqual(changes.map(operationOf), [
      "added",
      "deleted",
      "modified",
      "typechanged",
      "deleted",
      "added",
    ]);
    assert.deepEqual(parseRaw([]), []);
  });
});

describe("kindOf and sameBlob", () => {
  it("know files, links and submodules", () => {
    assert.deepEqual(
      ["100644", "100755", "120000", "160000"].map((mode) => kindOf({ mode, id: a })),
      ["file", "file", "symlink", "submodule"],
    );
    assert.equal(sameBlob(undefined, undefined), true);
    assert.equal(sameBlob({ mode: "100644", id: a }, undefined), false);
    assert.equal(sameBlob({ mode: "100644", id: a }, { mode: "100755", id: a }), false);
  });
});
