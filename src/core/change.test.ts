import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Change, type ChangeOperation, statsOf } from "./change.ts";

const change = (operation: ChangeOperation, lines: Pick<Change, "insertions" | "deletions"> = {}): Change => {
  return { path: "f", operation, kind: "file", ...lines };
};

describe("statsOf", () => {
  it("counts operations and lines", () => {
    const changes = [
      change("added", { insertions: 3, deletions: 0 }),
      change("added"),
      change("modified", { insertions: 2, deletions: 1 }),
      change("deleted", { insertions: 0, deletions: 4 }),
    ];
    assert.deepEqual(statsOf(changes), { added: 2, modified: 1, deleted: 1, insertions: 5, deletions: 5 });
  });

  it("takes a change of type for a modification", () => {
    assert.equal(statsOf([change("typechanged")]).modified, 1);
  });

  it("is all zero where nothing changed", () => {
    assert.deepEqual(statsOf([]), { added: 0, modified: 0, deleted: 0, insertions: 0, deletions: 0 });
  });
});
