import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import koffi from "koffi";
import { mountImage } from "../../../test/support/file-systems.ts";
import { failedWith } from "../calls/errno.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { cloneData, copyData, isOpenForWriting, readBytes, reserveRoom, writeBytes } from "./file-data.ts";

const POINT = failpoint("test.data");
const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";
const MIB = 1024 * 1024;

let root: string;
let opened: number[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-file-data-"));
  opened = [];
});

afterEach(() => {
  armFailpoints(undefined);
  for (const fd of opened) closeSync(fd);
  rmSync(root, { recursive: true, force: true });
});

const at = (name: string) => join(root, name);

function open(path: string, flags: string): number {
  const fd = openSync(path, flags);
  opened.push(fd);
  return fd;
}

/** Copies a file by copyData and returns the path of the copy. */
function copyOf(path: string, to = at("copy")): string {
  copyData({ point: POINT, from: open(path, "r"), to: open(to, "w+"), label: path }, statSync(path).size);
  return to;
}

const areEqual = (a: string, b: string) => readFileSync(a).equals(readFileSync(b));
const bytesOnDisk = (path: string) => statSync(path).blocks * 512;

describe("copyData", () => {
  for (const [what, holes] of [
    [
      "in the middle",
      [
        [0, 1],
        [10 * MIB, 5],
      ],
    ],
    ["at the beginning", [[10 * MIB, 5]]],
    ["at the end", [[0, 5]]],
    ["everywhere", []],
  ] as const) {
    it(`keeps a hole that is ${what}`, () => {
      const fd = open(at("sparse"), "w");
      for (const [position, length] of holes) writeSync(fd, "x".repeat(length), position);
      ftruncateSync(fd, 20 * MIB);
      const copy = copyOf(at("sparse"));
      assert.ok(areEqual(at("sparse"), copy));
      assert.ok(bytesOnDisk(copy) <= bytesOnDisk(at("sparse")) + 8192, `${bytesOnDisk(copy)} bytes on disk`);
    });
  }

  it("copies what has no hole, of any size", () => {
    for (const size of [0, 1, 4096, 128 * 1024, 128 * 1024 + 1, 17 * MIB + 3]) {
      writeFileSync(at("f"), Buffer.alloc(size, "0123456789abc"));
      assert.ok(areEqual(at("f"), copyOf(at("f"), at(`copy of ${size}`))), `${size}`);
    }
  });

  it("copies to another file system", { skip: NEEDS_ROOT }, () => {
    using image = mountImage("ext4", { megabytes: 64 });
    writeFileSync(at("large"), Buffer.alloc(3 * MIB, "0123456789abc"));
    assert.ok(areEqual(at("large"), copyOf(at("large"), join(image.path, "copy"))));
  });

  it("says so when the disk is full", { skip: NEEDS_ROOT }, () => {
    using image = mountImage("ext4", { megabytes: 16 });
    writeFileSync(at("large"), Buffer.alloc(32 * MIB, "x"));
    assert.throws(
      () => copyOf(at("large"), join(image.path, "copy")),
      (thrown) => failedWith(thrown, "ENOSPC"),
    );
  });

  it("ends where the file does if it became shorter meanwhile", () => {
    writeFileSync(at("f"), Buffer.alloc(MIB, "x"));
    const [from, to] = [open(at("f"), "r+"), open(at("copy"), "w+")];
    ftruncateSync(from, 1000);
    copyData({ point: POINT, from, to, label: "f" }, MIB);
    assert.ok(
      readFileSync(at("copy"))
        .subarray(0, 1000)
        .equals(readFileSync(at("f"))),
    );
  });
});

describe("cloneData", () => {
  it("says where blocks can't be shared, so that the caller copies", { skip: NEEDS_ROOT }, () => {
    using image = mountImage("ext4", { megabytes: 64 });
    writeFileSync(join(image.path, "f"), "content");
    writeFileSync(at("elsewhere"), "content");
    const to = open(join(image.path, "copy"), "w+");
    for (const from of [join(image.path, "f"), at("elsewhere")])
      assert.equal(cloneData(POINT, open(from, "r"), to, "f"), false);
    for (const fd of opened.splice(0)) closeSync(fd);
  });

  for (const kind of ["btrfs", "xfs"] as const) {
    it(`shares blocks on ${kind}, and a write to one file is not seen in the other`, {
      skip: NEEDS_ROOT,
    }, () => {
      using image = mountImage(kind, { megabytes: 320 });
      const [path, copy] = [join(image.path, "f"), join(image.path, "copy")];
      writeFileSync(path, Buffer.alloc(2 * MIB, "x"));
      const [from, to] = [open(path, "r+"), open(copy, "w+")];
      assert.equal(cloneData(POINT, from, to, "f"), true);
      assert.ok(areEqual(path, copy));
      writeSync(from, "changed", 0);
      assert.equal(readFileSync(copy, "latin1").slice(0, 7), "xxxxxxx");
      for (const fd of opened.splice(0)) closeSync(fd);
    });
  }

  it("passes on an error that is not about sharing", () => {
    writeFileSync(at("f"), "content");
    armFailpoints("test.data=enospc");
    assert.throws(
      () => cloneData(POINT, open(at("f"), "r"), open(at("copy"), "w+"), "f"),
      (thrown) => failedWith(thrown, "ENOSPC"),
    );
  });
});

describe("reading and writing bytes", () => {
  it("gives everything", () => {
    const content = Buffer.alloc(300_000, "0123456789abc");
    writeFileSync(at("f"), content);
    assert.ok(readBytes(open(at("f"), "r"), "f").equals(content));
    writeFileSync(at("empty"), "");
    assert.equal(readBytes(open(at("empty"), "r"), "empty").length, 0);
  });

  it("writes everything at the end of what was written", () => {
    const fd = open(at("f"), "w");
    for (const part of ["one ", "", "two"]) writeBytes(POINT, fd, Buffer.from(part), "f");
    assert.equal(readFileSync(at("f"), "utf8"), "one two");
  });

  it("says which file can't be read", () => {
    assert.throws(() => readBytes(open(root, "r"), "the folder"), /the folder/);
  });
});

describe("reserveRoom", () => {
  it("takes room without content, and says so where there is none", { skip: NEEDS_ROOT }, () => {
    using image = mountImage("ext4", { megabytes: 16 });
    const fd = openSync(join(image.path, "f"), "w");
    try {
      reserveRoom(POINT, fd, MIB, "f");
      assert.ok(bytesOnDisk(join(image.path, "f")) >= MIB);
      assert.throws(
        () => reserveRoom(POINT, fd, 64 * MIB, "f"),
        (thrown) => failedWith(thrown, "ENOSPC"),
      );
    } finally {
      closeSync(fd);
    }
  });
});

describe("isOpenForWriting", () => {
  beforeEach(() => {
    writeFileSync(at("f"), "content");
  });

  const check = () => {
    const fd = openSync(at("f"), "r");
    try {
      return isOpenForWriting(fd);
    } finally {
      closeSync(fd);
    }
  };

  it("is false for a file that nobody has open, or only for reading", () => {
    assert.equal(check(), false);
    open(at("f"), "r");
    assert.equal(check(), false);
  });

  it("is true as long as this process has it open for writing", () => {
    const fd = openSync(at("f"), "r+");
    assert.equal(check(), true);
    closeSync(fd);
    assert.equal(check(), false);
  });

  it("is true as long as another process has it open for writing", { timeout: 30_000 }, async () => {
    const program = `require("node:fs").openSync(process.argv[1], "a"); process.stdout.write("open"); setInterval(() => {}, 1000);`;
    const rival = spawn(process.execPath, ["-e", program, at("f")], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await once(rival.stdout, "data");
      assert.equal(check(), true);
    } finally {
      rival.kill("SIGKILL");
      await once(rival, "close");
    }
    assert.equal(check(), false);
  });

  it("is true for a shared mapping whose descriptor is closed already", () => {
    const library = koffi.load(null);
    const map = library.func(
      "uintptr_t mmap(uintptr_t address, size_t length, int protection, int flags, int fd, int64_t offset)",
    );
    const unmap = library.func("int munmap(uintptr_t address, size_t length)");
    const [PROT_READ_WRITE, MAP_SHARED] = [3, 1];
    const fd = openSync(at("f"), "r+");
    const address = map(0, 4096, PROT_READ_WRITE, MAP_SHARED, fd, 0);
    closeSync(fd);
    assert.equal(check(), true);
    assert.equal(unmap(address, 4096), 0);
    assert.equal(check(), false);
  });

  it("is true, to be careful, where it can't be told", () => {
    assert.equal(isOpenForWriting(-1), true);
  });
});
