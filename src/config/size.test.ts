import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatSize, parseSize } from "./size.ts";

describe("parseSize", () => {
  it("reads units of 1024 as bytes", () => {
    assert.equal(parseSize("64k"), 65_536);
    assert.equal(parseSize("512m"), 536_870_912);
    assert.equal(parseSize("2g"), 2_147_483_648);
  });

  it("keeps the largest size exact", () => {
    assert.ok(Number.isSafeInteger(parseSize("999999g")));
  });

  for (const text of [
    "",
    "7",
    "m",
    "0m",
    "7 m",
    "7M",
    "-7m",
    "1.5g",
    "7mb",
    "7m\n",
    "١m",
    "1234567m",
    "1t",
    "07m",
  ]) {
    it(`[X5] refuses ${JSON.stringify(text)} and says how to write one`, () => {
      assert.throws(() => parseSize(text), {
        name: "UsageError",
        message: /is not a size\.$/,
        hint: /64k, 512m or 2g/,
      });
    });
  }
});

describe("formatSize", () => {
  it("uses the largest unit that fits, and is read back as the same", () => {
    for (const text of ["1k", "1536m", "3g", "999999g"]) assert.equal(formatSize(parseSize(text)), text);
    assert.equal(formatSize(parseSize("2048m")), "2g");
  });

  it("gives bytes where no unit fits", () => {
    assert.equal(formatSize(1000), "1000 bytes");
  });
});
