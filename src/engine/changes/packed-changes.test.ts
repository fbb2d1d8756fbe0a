import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { comparePaths, pathFromBytes } from "../../core/paths/byte-path.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import { PackedChanges } from "./packed-changes.ts";
import { fitting } from "./rows.ts";

/** Names that sort differently as bytes, as UTF-16 or beside a slash, and one byte that is no UTF-8. */
const NAMES = ["a", "a-b", "a.b", "b", ".", ".a", "..b", "é", "\uffff", "\u{10000}", "z"];
const name = fc.constantFrom(...NAMES.filter((one) => one !== "."), pathFromBytes(Uint8Array.of(0xff, 0x61)));
const path = fc.oneof(
  fc.constant("."),
  fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/")),
);
const time = fc.tuple(fc.integer({ min: -1e11, max: 1e11 }), fc.nat(999_999_999)) as fc.Arbitrary<Time>;
/** Few, so that some are the same. */
const fewTimes = fc.oneof(fc.constant<Time>([1000, 1]), fc.constant<Time>([1000, 2]), time);
const both = {
  kind: fc.constantFrom("file", "directory", "symlink", "device") as fc.Arbitrary<Facts["kind"]>,
  mode: fc.constantFrom(0o644, 0o755, 0o4755),
  uid: fc.constantFrom(0, 1000, 4294967295),
  gid: fc.constantFrom(0, 1000),
  size: fc.nat(Number.MAX_SAFE_INTEGER),
  nlink: fc.constantFrom(1, 2, 70_000),
  ino: fc.nat(Number.MAX_SAFE_INTEGER),
  btime: fewTimes,
  mtime: fewTimes,
};
const now: fc.Arbitrary<Facts> = fc.record(
  {
    ...both,
    ctime: fewTimes,
    atime: fewTimes,
    rdev: fc.constantFrom("0:0", "1:3"),
    mountId: fc.constantFrom(27, 28),
    device: fc.constantFrom("8:1", "8:2"),
    locked: fc.boolean(),
  },
  { noNullPrototype: true },
);
const base: fc.Arbitrary<BaseFacts> = fc.record(
  {
    ...both,
    ctime: fewTimes,
    xattrs: fc.constantFrom({}, { "user.a": "1" }),
    target: fc.constantFrom("a", "b"),
    rdev: fc.constant("1:3"),
    changedBefore: fc.constant(true as const),
  },
  {
    requiredKeys: ["kind", "mode", "uid", "gid", "size", "nlink", "ino", "btime", "mtime", "xattrs"],
    noNullPrototype: true,
  },
);

describe("packed changes", () => {
  it("[D1] come out as they went in, in path order", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(path, base, now), { maxLength: 40 }), (rows) => {
        const packed = new PackedChanges();
        for (const [at, before, after] of rows)
          packed.add(at, { change: "modified", entry: "replace" }, { before, after });
        const { changes, entries } = packed.sorted();
        const wanted = rows.toSorted((a, b) => comparePaths(a[0], b[0]));
        assert.deepEqual(
          Array.from(changes, (change) => [change.path, change.before, change.after]),
          wanted,
        );
        assert.deepEqual(
          Array.from(entries, (entry) => entry.path),
          wanted.map(([at]) => at),
        );
        assert.deepEqual([changes.length, entries.length], [rows.length, rows.length]);
      }),
    );
  });

  it("tell changes from entries, and keep what few have", () => {
    const packed = new PackedChanges();
    packed.add("b", { entry: "delete" }, {});
    packed.add("a", { change: "modified" }, { parts: ["mode"], xattrs: { "user.a": "1" }, storedAt: "at" });
    packed.add("c".repeat(40_000), { change: "deleted", entry: "delete" }, {});
    const { changes, entries } = packed.sorted();
    assert.deepEqual(
      Array.from(changes, ({ path: at, operation, parts, xattrs, storedAt, before, after }) => [
        at.slice(0, 2),
        operation,
        parts,
        xattrs,
        storedAt,
        before,
        after,
      ]),
      [
        ["a", "modified", ["mode"], { "user.a": "1" }, "at", undefined, undefined],
        ["cc", "deleted", undefined, undefined, undefined, undefined, undefined],
      ],
    );
    assert.deepEqual(
      Array.from(entries, (entry) => `${entry.operation} ${entry.path.length}`),
      ["delete 1", "delete 40000"],
    );
    const long = fitting(entries, (entry) => entry.path.length > 1);
    assert.deepEqual([long.length, [...long].length, [...long].length], [1, 1, 1]);
  });
});
