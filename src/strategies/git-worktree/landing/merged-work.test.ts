import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { conflictsIn } from "./merged-work.ts";

describe("conflictsIn", () => {
  it("says of each path what either side did to it", () => {
    const line = (stage: number, path: string) => `100644 ${"a".repeat(40)} ${stage}\t${path}`;
    const said = [
      line(1, "both"),
      line(2, "both"),
      line(3, "both"),
      line(1, "theirs gone"),
      line(3, "theirs gone"),
      line(1, "ours\tgone"),
      line(2, "ours\tgone"),
      line(2, "added"),
      line(3, "added"),
      "",
      "1",
      "both",
      "CONFLICT (contents)",
    ];
    assert.deepEqual(conflictsIn(said, "main"), [
      { path: "both", why: "changed on main and in the plan" },
      { path: "theirs gone", why: "deleted on main, changed in the plan" },
      { path: "ours\tgone", why: "changed on main, deleted in the plan" },
      { path: "added", why: "added on main and in the plan" },
    ]);
  });
});
