import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatDuration, parseDuration } from "./duration.ts";

describe("parseDuration", () => {
  it("reads days, hours, minutes and seconds as milliseconds", () => {
    assert.equal(parseDuration("7d"), 604_800_000);
    assert.equal(parseDuration("12h"), 43_200_000);
    assert.equal(parseDuration("30m"), 1_800_000);
    assert.equal(parseDuration("90s"), 90_000);
    assert.equal(parseDuration("0s"), 0);
  });

  it("keeps the longest duration within what a date can be moved by", () => {
    assert.ok(!Number.isNaN(new Date(Date.now() - parseDuration("9999999d")).getTime()));
  });

  for (const text of ["", "7", "d", "7 d", "7D", "-7d", "1.5h", "7d12h", "7w", "7d\n", "١d", "12345678d"]) {
    it(`[X5] refuses ${JSON.stringify(text)} and says how to write one`, () => {
      assert.throws(() => parseDuration(text), {
        name: "UsageError",
        message: /is not a duration\.$/,
        hint: /7d, 12h, 30m or 90s/,
      });
    });
  }
});

describe("formatDuration", () => {
  it("uses the largest unit that fits, and is read back as the same", () => {
    for (const text of ["7d", "36h", "90m", "61s", "0s", "1d"])
      assert.equal(formatDuration(parseDuration(text)), text);
    assert.equal(formatDuration(parseDuration("48h")), "2d");
  });
});
