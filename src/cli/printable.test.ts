import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { harmless, oneLine } from "./printable.ts";

describe("printable text", () => {
  it("is one line: what would end it or move the cursor is escaped, the rest stays", () => {
    assert.equal(
      oneLine("a\nb\tc\rd\u001b[1m\u0085\u2028e\\n é 🙂"),
      "a\\nb\\tc\\u000dd\\u001b[1m\\u0085\\u2028e\\n é 🙂",
    );
    assert.equal(oneLine("caf\udce9"), "caf\\xe9");
  });

  it("keeps lines, tabs and foreign line ends of a patch, and escapes the rest", () => {
    assert.equal(harmless("+a\tb\r\n-c\rd\u001b[2J\n\udc80 🙂\n"), "+a\tb\r\n-c\\u000dd\\u001b[2J\n\\x80 🙂\n");
  });
});
