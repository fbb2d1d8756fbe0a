import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sizeText } from "./size-text.ts";

describe("sizeText", () => {
  it("takes the largest unit of which there is one", () => {
    const shown = [0, 1, 1023, 1024, 10 * 1024, 5.5 * 1024 ** 2, 3 * 1024 ** 3, 9000 * 1024 ** 4].map(
      sizeText,
    );
    assert.deepEqual(shown, [
      "0 bytes",
      "1 byte",
      "1023 bytes",
      "1.0 KiB",
      "10 KiB",
      "5.5 MiB",
      "3.0 GiB",
      "9000 TiB",
    ]);
  });
});
