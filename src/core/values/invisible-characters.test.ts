import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  holdsInvisible,
  replaceInvisible,
  showInvisible,
  showInvisibleInText,
} from "./invisible-characters.ts";

/**
 * One of each kind: bidi, zero width, tag, selector, filler, soft hyphen, Braille blank, line separator,
 * control.
 */
const HIDDEN = [
  ..."\u202e\u2066\u200f\u200b\u200d\u2060\ufeff\u{e0041}\ufe0f\u{e0100}\u3164\u115f\u00ad\u034f\u2800\u2028\u0085\u001b",
];

describe("characters that nobody sees", () => {
  it("[X9] are shown escaped, wherever they stand", () => {
    for (const character of HIDDEN) {
      const code = character.codePointAt(0)?.toString(16) ?? "";
      const shown = character.length > 1 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
      assert.equal(showInvisible(`a${character}b`), `a${shown}b`);
      assert.equal(showInvisibleInText(`a${character}\r\n\tb\n`), `a${shown}\r\n\tb\n`);
      assert.equal(holdsInvisible(`a${character}b`), true, shown);
    }
    assert.equal(showInvisible("a\nb\tc\udce9\ud800"), "a\\nb\\tc\\xe9\\ud800");
  });

  it("[X9] are not those of ordinary text in any script, nor those that make up one emoji", () => {
    const ordinary = "é ñ ß 日本語 हिन्दी עברית العربية e\u0301 \u00a0 ❤️ 👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ✔️ 1️⃣ 👍🏽";
    assert.equal(showInvisible(ordinary), ordinary);
    assert.equal(holdsInvisible(ordinary), false);
    assert.equal(showInvisible("❤️\ufe0f"), "❤️\\ufe0f", "one selector too many");
    assert.equal(showInvisible("👨\u200dx"), "👨\\u200dx", "a joiner that joins nothing");
  });

  it("are not the ends of lines, tabs, form feeds and a byte order mark at the start", () => {
    assert.equal(holdsInvisible("\ufeffa\r\n\tb\n\f"), false);
    assert.equal(holdsInvisible("a\ufeff"), true);
    assert.equal(holdsInvisible("a\rb"), true, "what follows is written over what was there");
  });

  it("can be replaced by anything else", () => {
    assert.equal(
      replaceInvisible("a\u200bb", (found) => `<${found.length}>`),
      "a<1>b",
    );
  });
});
