import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { failpoint } from "../failpoints.ts";
import {
  compareTimes,
  factsOfOpen,
  identityOf,
  isoTime,
  sameIdentity,
  sameTime,
  type Time,
} from "./facts.ts";
import { Folder } from "./folder.ts";
import { closeFile } from "./handles.ts";

const POINT = failpoint("test.facts");
const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";

let root: string;
let folder: Folder;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-facts-"));
  folder = Folder.open(root);
});

afterEach(() => {
  spawnSync("chattr", ["-R", "-i", "-a", root]);
  folder.close();
  rmSync(root, { recursive: true, force: true });
});

const at = (name: string) => join(root, name);

describe("facts", () => {
  it("are what Node says of the same entry, to the nanosecond", () => {
    writeFileSync(at("f"), "content", { mode: 0o640 });
    linkSync(at("f"), at("second"));
    mkdirSync(at("d"));
    chmodSync(at("d"), 0o3750);
    symlinkSync("target", at("link"));
    for (const name of ["f", "d", "link"]) {
      const facts = folder.facts(name)!;
      const stat = lstatSync(at(name), { bigint: true });
      assert.deepEqual(
        [facts.mode, facts.uid, facts.gid, facts.size, facts.nlink, facts.ino],
        [stat.mode & 0o7777n, stat.uid, stat.gid, stat.size, stat.nlink, stat.ino].map(Number),
      );
      const nanoseconds = (time: Time) => BigInt(time[0]) * 1_000_000_000n + BigInt(time[1]);
      assert.deepEqual([facts.mtime, facts.ctime, facts.atime, facts.btime].map(nanoseconds), [
        stat.mtimeNs,
        stat.ctimeNs,
        stat.atimeNs,
        stat.birthtimeNs,
      ]);
    }
  });

  it("tell all kinds apart", () => {
    writeFileSync(at("file"), "");
    mkdirSync(at("directory"));
    symlinkSync("file", at("symlink"));
    for (const kind of ["fifo", "socket"] as const)
      folder.createNode(POINT, kind, { ...folder.ownFacts(), kind, mode: 0o600 });
    for (const kind of ["file", "directory", "symlink", "fifo", "socket"])
      assert.equal(folder.facts(kind)?.kind, kind);
    using devices = Folder.open("/dev");
    assert.deepEqual([devices.facts("null")?.kind, devices.facts("null")?.rdev], ["device", "1:3"]);
  });

  it("tell block devices from others", { skip: NEEDS_ROOT }, () => {
    folder.createNode(POINT, "block", {
      ...folder.ownFacts(),
      kind: "block-device",
      mode: 0o600,
      rdev: "7:5",
    });
    assert.deepEqual([folder.facts("block")?.kind, folder.facts("block")?.rdev], ["block-device", "7:5"]);
  });

  it("know times before 1970 and after 2038, and sizes beyond 32 bits", () => {
    writeFileSync(at("f"), "");
    spawnSync("truncate", ["-s", "5G", at("f")]);
    for (const [date, seconds] of [
      ["1969-12-31T00:00:00Z", -86_400],
      ["2096-10-02T07:06:40Z", 4_000_000_000],
    ] as const) {
      spawnSync("touch", ["-d", date, at("f")]);
      assert.deepEqual(folder.facts("f")?.mtime, [seconds, 0]);
    }
    assert.equal(folder.facts("f")?.size, 5 * 2 ** 30);
  });

  it("say whether an entry is locked against change", { skip: NEEDS_ROOT }, (context) => {
    for (const name of ["immutable", "append", "free"]) writeFileSync(at(name), "");
    if (spawnSync("chattr", ["+i", at("immutable")]).status !== 0) {
      context.skip("the temporary folder is on a file system without such flags");
      return;
    }
    spawnSync("chattr", ["+a", at("append")]);
    assert.deepEqual(
      ["immutable", "append", "free"].map((name) => folder.facts(name)?.locked),
      [true, true, false],
    );
  });

  it("say which mount and which file system an entry is on", () => {
    mkdirSync(at("d"));
    using system = Folder.open("/proc");
    assert.deepEqual(
      [folder.facts("d")?.mountId, folder.facts("d")?.device],
      [folder.ownFacts().mountId, folder.ownFacts().device],
    );
    assert.notEqual(system.ownFacts().mountId, folder.ownFacts().mountId);
    assert.notEqual(system.ownFacts().device, folder.ownFacts().device);
  });

  it("of an open file stay those of the file, whatever becomes of its name", () => {
    writeFileSync(at("f"), "content");
    const { ino } = folder.facts("f")!;
    const fd = folder.openFile("f");
    try {
      unlinkSync(at("f"));
      mkdirSync(at("f"));
      const facts = factsOfOpen(fd, "f");
      assert.deepEqual([facts.kind, facts.ino, facts.nlink], ["file", ino, 0]);
    } finally {
      closeFile(fd);
    }
    assert.throws(() => factsOfOpen(fd, "the file"), /the file/);
  });
});

describe("identity", () => {
  it("stays through a rename and an edit, and is another for another file", () => {
    writeFileSync(at("f"), "");
    const before = identityOf(folder.facts("f")!);
    writeFileSync(at("f"), "content");
    folder.move(POINT, "f", folder, "g");
    assert.ok(sameIdentity(folder.facts("g")!, before));
    writeFileSync(at("f"), "content");
    assert.equal(sameIdentity(folder.facts("f")!, before), false);
  });

  it("is another even if the new file got the inode of the old one", () => {
    const before = { ino: 7, btime: [1, 2] } as const;
    assert.equal(sameIdentity({ ino: 7, btime: [1, 3] }, before), false);
    assert.equal(sameIdentity({ ino: 7, btime: [2, 2] }, before), false);
  });
});

describe("times", () => {
  it("are compared by seconds, then nanoseconds", () => {
    const times: readonly Time[] = [
      [-1, 999_999_999],
      [0, 0],
      [0, 1],
      [1, 0],
    ];
    for (const [at, time] of times.entries()) {
      for (const [other, second] of times.entries()) {
        assert.equal(Math.sign(compareTimes(time, second)), Math.sign(at - other));
        assert.equal(sameTime(time, second), at === other);
      }
    }
  });

  it("[L7] are written as UTC, ISO 8601, to the nanosecond", () => {
    assert.equal(isoTime([1_700_000_000, 7]), "2023-11-14T22:13:20.000000007Z");
    assert.equal(isoTime([-1, 999_999_999]), "1969-12-31T23:59:59.999999999Z");
    assert.equal(isoTime([253_402_300_800, 0]), "+010000-01-01T00:00:00.000000000Z");
  });

  it("[L7] are written as seconds where no calendar reaches", () => {
    assert.equal(isoTime([2 ** 53, 5]), "9007199254740992.000000005");
  });
});
