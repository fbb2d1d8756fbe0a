import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANSI_STYLES } from "./styles.ts";
import { textTable, textWidth } from "./text-table.ts";

describe("a text table", () => {
  it("aligns its columns and ends no line with spaces", () => {
    const rows = [
      ["ID", "NAME", "STATE"],
      ["1", "a long name", ""],
      ["22", "x", "open"],
    ];
    assert.deepEqual(textTable(rows), ["ID  NAME         STATE", "1   a long name", "22  x            open"]);
    assert.deepEqual(textTable([]), []);
  });

  it("does not count what only sets text apart", () => {
    const rows = [
      [{ text: "a", style: ANSI_STYLES.bold }, "b"],
      ["ccc", "d"],
    ];
    assert.deepEqual(textTable(rows), ["\u001b[1ma\u001b[22m    b", "ccc  d"]);
  });

  it("counts columns of the terminal, not characters", () => {
    assert.equal(textWidth("plain"), 5);
    assert.equal(textWidth("über"), 4);
    assert.equal(textWidth("u\u0308ber"), 4);
    assert.equal(textWidth("日本"), 4);
    assert.equal(textWidth("🙂"), 2);
  });
});
