import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ContentDigest, digestOfContent } from "./content-digest.ts";

const MIB = 1024 * 1024;
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/**
 * The digest of bytes that come in pieces of these lengths; where a piece is all zeros it is left out, as a
 * hole is.
 */
function inPieces(content: Buffer, lengths: readonly number[]): string {
  const digest = new ContentDigest();
  for (let at = 0, next = 0; at < content.length; next += 1) {
    const piece = content.subarray(at, at + (lengths[next % lengths.length] ?? 1));
    if (piece.some((byte) => byte !== 0)) digest.add(piece, at);
    at += piece.length;
  }
  return digest.end(content.length);
}

describe("the digest of content", () => {
  it("is SHA-256 as long as no aligned MiB of it is zeros", () => {
    for (const content of [
      Buffer.alloc(0),
      Buffer.from("text"),
      Buffer.alloc(MIB - 1),
      Buffer.concat([Buffer.from("x"), Buffer.alloc(2 * MIB - 2), Buffer.from("x")]),
    ])
      assert.equal(digestOfContent(content), sha256(content), `${content.length} bytes`);
  });

  it("is the same for equal content, whatever of it is holes and in whatever pieces it comes", () => {
    const blocks = fc.array(fc.constantFrom("zeros", "data", "both"), { minLength: 1, maxLength: 5 });
    const lengths = fc.array(fc.integer({ min: 1000, max: 3 * MIB }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(blocks, fc.nat(MIB), lengths, (kinds, tail, pieces) => {
        const content = Buffer.alloc(kinds.length * MIB + tail);
        kinds.forEach((kind, at) => {
          if (kind !== "zeros")
            content.fill("data", at * MIB + (kind === "both" ? 70_001 : 0), (at + 1) * MIB - 5);
        });
        const isFolded = kinds.includes("zeros") || tail === MIB;
        assert.equal(inPieces(content, pieces), digestOfContent(content));
        assert.equal(digestOfContent(content).startsWith("zeros:"), isFolded);
      }),
      { numRuns: 30 },
    );
  });

  it("differs where the zeros are elsewhere, are more, or are data that looks like their number", () => {
    const x = Buffer.alloc(MIB, "x");
    const zeros = Buffer.alloc(MIB);
    const numbers = Buffer.from(BigUint64Array.of(1n, 1n, 1n).buffer);
    const contents = [
      [x, zeros],
      [zeros, x],
      [x, zeros, zeros],
      [x, zeros, Buffer.alloc(1)],
      [x],
      [x, numbers],
      [zeros],
      [zeros, zeros],
    ];
    const digests = contents.map((parts) => digestOfContent(Buffer.concat(parts)));
    assert.equal(new Set(digests).size, contents.length, digests.join("\n"));
  });

  it("takes a petabyte of zeros at no cost", () => {
    const size = 1024 ** 5;
    const [digest, other] = [new ContentDigest(), new ContentDigest()];
    digest.add(Buffer.from("end"), size - 3);
    other.add(Buffer.from("end"), size - 4);
    assert.notEqual(digest.end(size), other.end(size));
  });
});
