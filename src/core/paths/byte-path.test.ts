import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { processorSeconds } from "../../../test/support/processor-time.ts";
import {
  baseName,
  bytesFromPath,
  comparePaths,
  displayPath,
  foldersAbove,
  isAtOrBelow,
  joinPath,
  nearest,
  parentPath,
  pathFromBytes,
  ROOT_PATH,
} from "./byte-path.ts";

const bytes = (...values: readonly number[]) => Buffer.from(values);

describe("a path and its bytes", () => {
  it("are the same text where the bytes are UTF-8", () => {
    for (const text of ["", "a", "größe", "船", "🚢", "a\nb", "\u0000", "\ufffd", "\ufeffbom"]) {
      assert.equal(pathFromBytes(Buffer.from(text)), text);
      assert.deepEqual(bytesFromPath(text), Buffer.from(text));
    }
  });

  it("have a lone surrogate for each byte that is not UTF-8, and the rest as it is", () => {
    for (const [path, ...values] of [
      ["a\udcffb", 0x61, 0xff, 0x62],
      ["\udc80", 0x80],
      ["é\udcc3(", 0xc3, 0xa9, 0xc3, 0x28],
      // Cut off, overlong, a surrogate in UTF-8, beyond the last character.
      ["\udce2\udc82", 0xe2, 0x82],
      ["\udcc0\udcaf", 0xc0, 0xaf],
      ["\udced\udcb3\udcbf", 0xed, 0xb3, 0xbf],
      ["\udcf4\udc90\udc80\udc80", 0xf4, 0x90, 0x80, 0x80],
      ["🚢\udcff🚢", 0xf0, 0x9f, 0x9a, 0xa2, 0xff, 0xf0, 0x9f, 0x9a, 0xa2],
    ] as const) {
      assert.equal(pathFromBytes(bytes(...values)), path);
      assert.deepEqual(bytesFromPath(path), bytes(...values));
    }
  });

  it("are taken apart as a strict decoder of UTF-8 does it", () => {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const isValid = (value: Uint8Array) => {
      try {
        return decoder.decode(value) !== undefined;
      } catch {
        return false;
      }
    };
    for (let lead = 0x80; lead < 0x100; lead += 1) {
      for (const second of [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0]) {
        for (const rest of [[], [0x80], [0x80, 0xbf], [0x80, 0x41], [0x41, 0x80]]) {
          const value = bytes(lead, second, ...rest);
          // A byte before it makes the whole not valid, so that the careful way is taken.
          const path = pathFromBytes(Buffer.concat([bytes(0xff), value]));
          assert.equal(
            /[\udc80-\udcff]/.test(path.slice(1).replace(/[\ud800-\udbff][\udc00-\udfff]/g, "")),
            !isValid(value),
            value.toString("hex"),
          );
          assert.deepEqual(bytesFromPath(path), Buffer.concat([bytes(0xff), value]));
        }
      }
    }
  });

  it("come back exactly, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (value) =>
        assert.deepEqual(bytesFromPath(pathFromBytes(value)), Buffer.from(value)),
      ),
    );
    const mixed = fc.array(
      fc.oneof(
        fc.constantFrom(...["é", "🚢", "a"].map((text) => Buffer.from(text))),
        fc.uint8Array({ maxLength: 3 }),
      ),
    );
    fc.assert(
      fc.property(mixed, (parts) => {
        const value = Buffer.concat(parts);
        assert.deepEqual(bytesFromPath(pathFromBytes(value)), value);
      }),
    );
  });

  it("survive JSON", () => {
    const path = pathFromBytes(bytes(0x61, 0xff, 0x62));
    assert.equal(JSON.stringify(path), '"a\\udcffb"');
    assert.equal(JSON.parse(JSON.stringify(path)), path);
  });

  it("are those of a real file name that is not UTF-8", () => {
    const folder = mkdtempSync(join(tmpdir(), "drydock-byte-path-"));
    try {
      const name = bytes(0x61, 0xff, 0xfe, 0x0a);
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), name]), "");
      const [found] = readdirSync(folder, "buffer");
      assert.equal(pathFromBytes(found!), "a\udcff\udcfe\n");
      assert.deepEqual(bytesFromPath("a\udcff\udcfe\n"), name);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("take a time that grows with their length only, so that whole texts can be carried like this", () => {
    for (const value of [
      Buffer.alloc(1_000_000, 0xff),
      Buffer.concat([Buffer.alloc(1_000_000, "text"), bytes(0xff)]),
    ]) {
      const seconds = processorSeconds(() => assert.ok(bytesFromPath(pathFromBytes(value)).equals(value)));
      assert.ok(seconds < 5, `it takes ${seconds} s`);
    }
  });
});

describe("displayPath", () => {
  it("escapes what a terminal would act on, and bytes that are no characters, on one line", () => {
    assert.equal(
      displayPath("a\nb\tc\u001b[31m\u007f\u009b\u2028"),
      "a\\nb\\tc\\u001b[31m\\u007f\\u009b\\u2028",
    );
    assert.equal(displayPath("a\udcffb\\"), "a\\xffb\\\\");
  });

  it("leaves every other character alone", () => {
    for (const text of ["größe", "🚢", "a b", "\u{1f480}", "'\"$"]) assert.equal(displayPath(text), text);
  });

  it("is different for different paths", () => {
    const path = fc.uint8Array({ maxLength: 6 }).map(pathFromBytes);
    fc.assert(fc.property(path, path, (a, b) => a === b || displayPath(a) !== displayPath(b)));
  });
});

describe("the parts of a path", () => {
  it("are put together and taken apart, with the root as a folder like any other", () => {
    assert.equal(joinPath(ROOT_PATH, "a"), "a");
    assert.equal(joinPath("a/b", "c"), "a/b/c");
    assert.deepEqual(
      [parentPath("a/b/c"), parentPath("a"), parentPath(ROOT_PATH)],
      ["a/b", ROOT_PATH, ROOT_PATH],
    );
    assert.deepEqual([parentPath("/a/b"), parentPath("/a"), parentPath("/")], ["/a", "/", "/"]);
    assert.deepEqual([foldersAbove("a/b/c"), foldersAbove("a")], [[ROOT_PATH, "a", "a/b"], [ROOT_PATH]]);
    const paths = new Set(["a", "a/b/c"]);
    assert.deepEqual(
      ["a/b/c", "a/b", "x"].map((path) => nearest(paths, path)),
      ["a/b/c", "a", undefined],
    );
    assert.deepEqual([baseName("a/b/c"), baseName("a"), baseName(ROOT_PATH)], ["c", "a", ROOT_PATH]);
  });

  it("say what is below what, by whole names", () => {
    for (const [path, ancestor] of [
      ["a/b", "a"],
      ["a", "a"],
      ["a", ROOT_PATH],
      [ROOT_PATH, ROOT_PATH],
    ] as const) {
      assert.equal(isAtOrBelow(path, ancestor), true);
    }
    for (const [path, ancestor] of [
      ["ab", "a"],
      ["a", "a/b"],
      [ROOT_PATH, "a"],
      ["a.b", "a"],
    ] as const) {
      assert.equal(isAtOrBelow(path, ancestor), false);
    }
  });
});

describe("comparePaths", () => {
  it("puts a folder before what is in it, and that before whatever follows the folder", () => {
    const paths = ["a b", "a/b/c", "b", "a", ".", "a-b", "a/b", "a.txt", "a/c", ".hidden", "a!"];
    assert.deepEqual(paths.sort(comparePaths), [
      ".",
      ".hidden",
      "a",
      "a/b",
      "a/b/c",
      "a/c",
      "a b",
      "a!",
      "a-b",
      "a.txt",
      "b",
    ]);
  });

  it("is an order: total, and the same both ways", () => {
    const path = fc
      .array(fc.constantFrom("a", "b", "-", "."), { minLength: 1, maxLength: 4 })
      .map((names) => names.join("/"));
    fc.assert(
      fc.property(path, path, path, (a, b, c) => {
        assert.equal(Math.sign(comparePaths(a, b)) + Math.sign(comparePaths(b, a)), 0);
        assert.equal(comparePaths(a, b) === 0, a === b);
        if (comparePaths(a, b) <= 0 && comparePaths(b, c) <= 0) assert.ok(comparePaths(a, c) <= 0);
      }),
    );
  });
});
