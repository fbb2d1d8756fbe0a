import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FoldableRow, foldedRows } from "./folded-rows.ts";

const added = (place: string): FoldableRow => ({ place, operation: "added", warnings: undefined });
const many = (folder: string, count: number) =>
  Array.from({ length: count }, (_, at) => added(`${folder}/f${String(at).padStart(3, "0")}`));

function shown(rows: readonly FoldableRow[], most: number): readonly string[] {
  return foldedRows(rows, most).map((item) =>
    "row" in item ? item.row.place : "folder" in item ? `${item.folder}: ${item.text}` : `+${item.more}`,
  );
}

describe("foldedRows", () => {
  it("folds the large folders and opens the small ones", () => {
    const rows = [
      added("app/a"),
      ...many("app/node_modules/x", 500),
      ...many("app/node_modules/y", 300),
      { ...added("app/src/deep/only"), operation: "modified" as const },
      { ...added("app/src/old"), operation: "deleted" as const },
    ];
    assert.deepEqual(shown(rows, 6), [
      "app/a",
      "app/node_modules/x/: 500 added",
      "app/node_modules/y/: 300 added",
      "app/src/deep/only",
      "app/src/old",
    ]);
    assert.deepEqual(shown(rows, 3), [
      "app/a",
      "app/node_modules/: 800 added",
      "app/src/: 1 modified, 1 deleted",
    ]);
  });

  it("shows the first of many files in one folder, and counts the rest", () => {
    assert.deepEqual(shown(many("app", 800), 2), ["app/f000", "app/f001", "+798"]);
    const nested = [...many("app/a", 3), ...many("app/b", 3), ...many("app/c", 3)];
    assert.deepEqual(shown(nested, 2), ["app/a/: 3 added", "app/b/: 3 added", "+3"]);
    assert.deepEqual(shown(many("app", 3), 0), ["+3"]);
  });

  it("never hides a warning, nor a folder that is itself a change", () => {
    const odd = { ...added("app/big/odd"), warnings: ["it is odd"] };
    const rows = [added("app/big"), ...many("app/big", 50), odd];
    assert.deepEqual(shown(rows, 2), ["app/big", "app/big/: 50 added", "app/big/odd"]);
  });
});
