import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UnsupportedError } from "../../core/errors/errors.ts";
import { assertClockWentOn } from "./barrier.ts";

describe("The barrier in time", () => {
  const made = [1_000_000_000, 5] as const;

  it("[A15] refuses to judge by a clock that was set back since, be it by a nanosecond", () => {
    for (const now of [
      [999_999_999, 999_999_999],
      [1_000_000_000, 4],
    ] as const) {
      assert.throws(() => assertClockWentOn(made, now), UnsupportedError);
    }
  });

  it("goes on when the clock stood still or went on", () => {
    for (const now of [made, [1_000_000_000, 6], [1_000_000_001, 0]] as const) assertClockWentOn(made, now);
  });
});
