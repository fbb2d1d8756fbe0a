import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { digestOf } from "./digest.ts";
import { shortDigest } from "./short-digest.ts";

describe("the digest of short texts", () => {
  it("is that of node:crypto for texts and bytes of every length around a block", () => {
    for (let length = 0; length < 200; length += 1) {
      const text = "/folder-ü/".repeat(20).slice(0, length);
      assert.equal(shortDigest(text), digestOf(text), `${length} characters`);
      const bytes = Uint8Array.from({ length }, (_, at) => 255 - at);
      assert.equal(shortDigest(bytes), digestOf(bytes), `${length} bytes`);
    }
  });
});
