import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { bytesFromPath, comparePaths, displayPath, pathFromBytes } from "../../src/core/paths/byte-path.ts";
import { WorkTree } from "../../src/testing/tree/work-tree.ts";
import { runs } from "./property-runs.ts";

const anyBytes = fc.uint8Array({ minLength: 0, maxLength: 40 });

/** Bytes that are likely to be almost UTF-8. */
const nearlyText = fc
  .array(
    fc.oneof(
      fc
        .constantFrom(0xc0, 0xc2, 0xe0, 0xed, 0xa0, 0xf0, 0xf4, 0x80, 0x90, 0xbf, 0xfe, 0xff)
        .map((byte) => [byte]),
      fc.string({ unit: "grapheme", maxLength: 2 }).map((text) => [...Buffer.from(text)]),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));

/** A name that a file can have. */
const fileName = fc
  .oneof(anyBytes, nearlyText)
  .map((bytes) => bytes.filter((byte) => byte !== 0 && byte !== 47).slice(0, 100))
  .filter((bytes) => bytes.length > 0 && ![".", ".."].includes(Buffer.from(bytes).toString("latin1")));

describe("byte paths", () => {
  it("[D1] any bytes become a string and the same bytes again, through JSON too", () => {
    fc.assert(
      fc.property(fc.oneof(anyBytes, nearlyText), (bytes) => {
        const path = JSON.parse(JSON.stringify(pathFromBytes(bytes))) as string;
        assert.deepEqual(new Uint8Array(bytesFromPath(path)), new Uint8Array(bytes));
      }),
      runs(750, 3),
    );
  });

  it("different bytes become different strings", () => {
    fc.assert(
      fc.property(nearlyText, nearlyText, (a, b) => {
        assert.equal(pathFromBytes(a) === pathFromBytes(b), Buffer.compare(a, b) === 0);
      }),
      runs(750, 3),
    );
  });

  it("what a terminal is shown holds no control character, and differs for different paths", () => {
    fc.assert(
      fc.property(nearlyText, nearlyText, (a, b) => {
        const [first, second] = [displayPath(pathFromBytes(a)), displayPath(pathFromBytes(b))];
        assert.doesNotMatch(first, /[\u0000-\u001f\u007f-\u009f]/);
        assert.ok(first.isWellFormed(), "a lone surrogate is shown as it is");
        assert.equal(first === second, Buffer.compare(a, b) === 0);
      }),
      runs(750, 3),
    );
  });

  it("paths have one order, in which a folder comes right before what is in it", () => {
    const path = fc.array(fc.constantFrom("a", "b", "a-", "a!", "\udcff"), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(path, path, path, (x, y, z) => {
        const [a, b, c] = [x.join("/"), y.join("/"), z.join("/")];
        assert.equal(Math.sign(comparePaths(a, b)) + Math.sign(comparePaths(b, a)), 0);
        if (comparePaths(a, b) <= 0 && comparePaths(b, c) <= 0) assert.ok(comparePaths(a, c) <= 0);
        const isBetween = comparePaths(a, c) < 0 && comparePaths(c, `${a}/x`) < 0;
        assert.ok(!isBetween || c.startsWith(`${a}/`), `${c} is between ${a} and what is in it`);
      }),
      runs(750, 3),
    );
  });

  it("[D1] a file of any name is found under that name", () => {
    const folder = mkdtempSync(join(tmpdir(), "drydock-names-"));
    try {
      using tree = new WorkTree(folder);
      fc.assert(
        fc.property(fileName, (bytes) => {
          const name = pathFromBytes(bytes);
          tree.write(name, "x");
          assert.deepEqual(tree.names(), [name]);
          const [listed] = readdirSync(folder, { encoding: "buffer" });
          assert.deepEqual(new Uint8Array(listed as Buffer), new Uint8Array(bytes));
          tree.remove(name);
        }),
        runs(75, 3),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
