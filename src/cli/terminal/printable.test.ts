import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { harmless, oneLine, visibleJson, withStyles } from "./printable.ts";

describe("printable text", () => {
  it("is one line: what would end it or move the cursor is escaped, the rest stays", () => {
    assert.equal(
      oneLine("a\nb\tc\rd\u001b[1m\u0085\u2028e\\n é 🙂"),
      "a\\nb\\tc\\u000dd\\u001b[1m\\u0085\\u2028e\\n é 🙂",
    );
    assert.equal(oneLine("caf\udce9"), "caf\\xe9");
  });

  it("keeps lines, tabs and foreign line ends of a patch, and escapes the rest", () => {
    assert.equal(harmless("\u202e+a\u200b\n"), "\\u202e+a\\u200b\n");
    assert.equal(
      harmless("+a\tb\r\n-c\rd\u001b[2J\n\udc80 🙂\n"),
      "+a\tb\r\n-c\\u000dd\\u001b[2J\n\\x80 🙂\n",
    );
  });

  it("[X9] keeps the colours of a line that is ready, and nothing else that a terminal would obey", () => {
    const line = "\u001b[31mred\u001b[39m \u202ehidden\u001b]0;title\u0007\u001b[2J";
    assert.equal(withStyles(line), "\u001b[31mred\u001b[39m \\u202ehidden\\u001b]0;title\\u0007\\u001b[2J");
  });

  it("[X9] is JSON that says the same, with nothing hidden in it", () => {
    const value = { path: "a\u202eb\u{e0041}\u007f", emoji: "❤️" };
    const json = visibleJson(JSON.stringify(value, undefined, 2));
    assert.match(json, /"a\\u202eb\\udb40\\udc41\\u007f"/);
    assert.match(json, /"❤️"/);
    assert.deepEqual(JSON.parse(json), value);
  });
});
