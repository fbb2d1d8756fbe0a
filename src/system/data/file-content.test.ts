import assert from "node:assert/strict";
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { mountImage } from "../../../test/support/file-systems.ts";
import { digestOfContent } from "./content-digest.ts";
import { digestOfFile, readData, sameData } from "./file-content.ts";

const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";
const MIB = 1024 * 1024;
/** Long enough to be noticed, and read in seconds should that ever happen again. */
const LARGE = 1024 * MIB;

let root: string;
let opened: number[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-file-content-"));
  opened = [];
});

afterEach(() => {
  for (const fd of opened) closeSync(fd);
  rmSync(root, { recursive: true, force: true });
});

function open(path: string, flags = "r"): number {
  const fd = openSync(path, flags);
  opened.push(fd);
  return fd;
}

/** Makes a file of this size with these bytes in it, and holes everywhere else. */
function sparse(
  path: string,
  size: number,
  data: readonly (readonly [at: number, bytes: string | Buffer])[],
): string {
  const fd = openSync(path, "w");
  ftruncateSync(fd, size);
  for (const [at, bytes] of data) writeSync(fd, Buffer.from(bytes), 0, bytes.length, at);
  closeSync(fd);
  return path;
}

const file = (name: string, size: number, data: readonly (readonly [at: number, bytes: string | Buffer])[]) =>
  sparse(join(root, name), size, data);
const same = (a: string, b: string) => sameData(open(a), open(b), a);
const digest = (path: string) => digestOfFile(open(path), path);

/** How many bytes this process reads, from wherever, while it does this. */
function bytesRead(action: () => void): number {
  const total = () => Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "latin1"))?.[1]);
  const before = total();
  action();
  return total() - before;
}

describe("reading data", () => {
  it("gives all of it, each piece with its place", () => {
    const content = Buffer.alloc(300_000, "0123456789abc");
    writeFileSync(join(root, "f"), content);
    for (const size of [content.length, 100_000, 0]) {
      const seen = Buffer.alloc(size);
      readData(open(join(root, "f")), size, "f", (bytes, at) => bytes.copy(seen, at));
      assert.ok(seen.equals(content.subarray(0, size)), `${size}`);
    }
  });

  it("ends where a file does that became shorter meanwhile", () => {
    writeFileSync(join(root, "f"), "short");
    for (const size of [100, MIB]) {
      let seen = "";
      readData(open(join(root, "f")), size, "f", (bytes) => {
        seen += bytes.toString();
      });
      assert.equal(seen, "short");
    }
  });
});

describe("comparing files", () => {
  it("tells whether two files hold the same bytes", () => {
    const content = Buffer.alloc(300_000, "0123456789abc");
    const other = Buffer.from(content);
    other[299_999] = 0;
    const [a, b, c, d] = (
      [
        ["a", content],
        ["b", content],
        ["other", other],
        ["shorter", content.subarray(1)],
      ] as const
    ).map(([name, bytes]) => file(name, bytes.length, [[0, bytes]])) as [string, string, string, string];
    assert.deepEqual([same(a, b), same(a, c), same(a, d), same(d, a)], [true, false, false, false]);
  });

  it("finds what differs, and only that, wherever either file has holes", () => {
    const x = Buffer.alloc(MIB, "x");
    const zeros = Buffer.alloc(MIB);
    const written = file("written", 20 * MIB, [
      [0, "a"],
      [4 * MIB, zeros],
      [9 * MIB, x],
    ]);
    const holes = file("holes", 20 * MIB, [
      [0, "a"],
      [9 * MIB, x],
      [15 * MIB, zeros],
    ]);
    assert.ok(same(written, holes) && same(holes, written));
    assert.equal(digest(written), digest(holes));
    assert.equal(digest(written), digestOfContent(readFileSync(written)));
    for (const [name, at] of [
      ["in data", 9.5 * MIB],
      ["in a hole of both", 12 * MIB],
      ["in a hole of one", 4.5 * MIB],
      ["at the end", 20 * MIB - 1],
      ["behind the first piece", 200_000],
    ] as const) {
      const other = file(name, 20 * MIB, [
        [0, "a"],
        [9 * MIB, x],
        [at, "!"],
      ]);
      assert.deepEqual(
        [same(written, other), same(other, written), same(other, holes)],
        [false, false, false],
        name,
      );
      assert.notEqual(digest(other), digest(written), name);
    }
  });

  for (const kind of ["ext4", "xfs", "btrfs"] as const) {
    it(`reads no hole on ${kind}`, { skip: NEEDS_ROOT }, () => {
      using image = mountImage(kind, { megabytes: 320 });
      const at = [0, 5 * MIB + 1, LARGE / 2, LARGE - 5];
      const [a, b] = ["a", "b"].map((name) =>
        sparse(
          join(image.path, name),
          LARGE,
          at.map((place) => [place, "data"] as const),
        ),
      ) as [string, string];
      const read = bytesRead(() => {
        assert.ok(same(a, b));
        assert.equal(digest(a), digest(b));
      });
      assert.ok(read < 4 * MIB, `${read} bytes were read`);
      for (const fd of opened.splice(0)) closeSync(fd);
    });
  }
});
