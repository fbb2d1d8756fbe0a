import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { bytesFromPath, pathFromBytes, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { readBytes, writeBytes } from "../data/file-data.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { failedWith } from "./errno.ts";
import { Folder } from "./folder.ts";
import { closeFile } from "./handles.ts";

const POINT = failpoint("test.folder");
const ODD_NAME = pathFromBytes(Buffer.from([0x61, 0xff, 0x0a, 0x62]));
const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";

let root: string;
let folder: Folder;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-folder-"));
  mkdirSync(join(root, "in"));
  mkdirSync(join(root, "out"));
  writeFileSync(join(root, "out/secret"), "secret");
  folder = Folder.open(join(root, "in"));
});

afterEach(() => {
  armFailpoints(undefined);
  folder.close();
  rmSync(root, { recursive: true, force: true });
});

const at = (path: string) => bytesFromPath(join(root, "in", path));
const refusedWith =
  (...codes: readonly string[]) =>
  (thrown: unknown) =>
    failedWith(thrown, ...codes);

function contentOf(parent: Folder, name: string): string {
  const fd = parent.openFile(name);
  try {
    return readBytes(fd, name).toString();
  } finally {
    closeFile(fd);
  }
}

describe("opening below a folder", () => {
  it("[X1] reaches what is below, at any depth, and the folder itself", () => {
    mkdirSync(at("a/b/c"), { recursive: true });
    using deep = folder.openBelow("a/b/c");
    using same = folder.openBelow(ROOT_PATH);
    assert.equal(deep.ownFacts().ino, statSync(at("a/b/c")).ino);
    assert.equal(same.ownFacts().ino, folder.ownFacts().ino);
    assert.equal(deep.path, join(root, "in/a/b/c"));
  });

  it("[X1] refuses a path that leads out by '..', also in the middle and after a long way in", () => {
    mkdirSync(at("a/b"), { recursive: true });
    for (const path of ["..", "../out", "a/../../out", "a/b/../../../out", `${"a/../".repeat(300)}../out`]) {
      assert.throws(() => folder.openBelow(path), refusedWith("EXDEV"), path);
      assert.equal(folder.openBelowIfThere(path), undefined);
    }
  });

  it("[X1] refuses an absolute path", () => {
    assert.throws(() => folder.openBelow(join(root, "in")), refusedWith("EXDEV"));
    assert.throws(() => folder.openBelow("/"), refusedWith("EXDEV"));
  });

  it("[X1] refuses every link: at the end, on the way, to inside, to outside, and magic ones", () => {
    mkdirSync(at("real/deep"), { recursive: true });
    symlinkSync("real", at("inside"));
    symlinkSync("../out", at("outside"));
    symlinkSync(join(root, "out"), at("absolute"));
    symlinkSync("/proc/self/root", at("magic"));
    symlinkSync("loop", at("loop"));
    for (const path of ["inside", "inside/deep", "outside", "absolute", "magic", "magic/etc", "loop"]) {
      assert.throws(() => folder.openBelow(path), refusedWith("ELOOP", "ENOTDIR"), path);
      assert.equal(folder.openBelowIfThere(path), undefined);
    }
  });

  it("[X1] refuses to open a link by its own path, or as a child", () => {
    symlinkSync(join(root, "out"), at("link"));
    assert.throws(() => Folder.open(join(root, "in/link")), refusedWith("ENOTDIR", "ELOOP"));
    assert.throws(() => folder.openChild("link"), refusedWith("ENOTDIR", "ELOOP"));
    assert.throws(() => folder.openFile("link"), refusedWith("ELOOP"));
  });

  it("says what is missing, and undefined to who asked whether it is there", () => {
    writeFileSync(at("file"), "");
    assert.throws(() => folder.openBelow("gone/deep"), refusedWith("ENOENT"));
    assert.throws(() => folder.openBelow("file/deep"), refusedWith("ENOTDIR"));
    assert.equal(folder.openBelowIfThere("gone"), undefined);
    assert.equal(folder.openBelowIfThere("file"), undefined);
  });

  it("reaches deeper than the kernel takes in one path, and refuses links and '..' there too", () => {
    const name = "n".repeat(250);
    const names = Array.from({ length: 20 }, () => name);
    const opened = [folder.duplicate()];
    for (const each of names) {
      opened.at(-1)!.createFolder(POINT, each, 0o700);
      opened.push(opened.at(-1)!.openChild(each));
    }
    const deepest = opened.at(-1)!;
    deepest.createLink(POINT, "link", "/");
    using found = folder.openBelow(names.join("/"));
    assert.equal(found.ownFacts().ino, deepest.ownFacts().ino);
    assert.throws(() => folder.openBelow([...names, "link"].join("/")), refusedWith("ELOOP", "ENOTDIR"));
    assert.throws(
      () => folder.openBelow([...names, ...names.map(() => ".."), "..", ".."].join("/")),
      refusedWith("EXDEV"),
    );
    for (const each of opened) each.close();
  });

  it("refuses a name with a NUL, which would be cut off, and one that is too long", () => {
    assert.throws(() => folder.openBelow("a\0b"), refusedWith("EINVAL"));
    assert.throws(() => folder.facts("n".repeat(300)), refusedWith("ENAMETOOLONG"));
    assert.throws(() => folder.facts("n".repeat(9000)), refusedWith("ENAMETOOLONG"));
  });

  it("[X1] never gets outside while somebody keeps swapping a folder for a link", {
    timeout: 60_000,
  }, async () => {
    mkdirSync(at("swapped"));
    writeFileSync(at("swapped/secret"), "mine");
    const swap = `
      import { renameSync, symlinkSync } from "node:fs";
      process.chdir(process.argv[1]);
      symlinkSync("../out", "link");
      process.stdout.write("ready");
      for (;;) { renameSync("swapped", "kept"); renameSync("link", "swapped"); renameSync("swapped", "link"); renameSync("kept", "swapped"); }`;
    const rival = spawn(process.execPath, ["--input-type=module", "-e", swap, join(root, "in")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(rival.stdout, "data");
      const seen = { mine: 0, refused: 0 };
      for (
        const end = performance.now() + 1500;
        performance.now() < end || seen.mine * seen.refused === 0;
      ) {
        using found = folder.openBelowIfThere("swapped");
        if (found === undefined) seen.refused += 1;
        else {
          assert.equal(contentOf(found, "secret"), "mine");
          seen.mine += 1;
        }
      }
    } finally {
      rival.kill("SIGKILL");
      await once(rival, "close");
    }
  });
});

describe("a folder", () => {
  it("lists all names but its own two, of any bytes, as often as it is asked", () => {
    const names = [
      ODD_NAME,
      "größe",
      ".hidden",
      "..almost",
      ...Array.from({ length: 3000 }, (_, n) => `file ${n}`),
    ];
    for (const name of names) writeFileSync(at(name), "");
    for (let time = 0; time < 2; time += 1) assert.deepEqual(folder.names().sort(), [...names].sort());
  });

  it("keeps acting on the same folder when that is moved away", () => {
    mkdirSync(at("a"));
    using child = folder.openChild("a");
    folder.move(POINT, "a", folder, "b");
    mkdirSync(at("a"));
    child.createFolder(POINT, "made", 0o755);
    assert.ok(existsSync(at("b/made")));
  });

  it("gives facts without following a link, and undefined where nothing is", () => {
    symlinkSync("/etc/hostname", at("link"));
    assert.equal(folder.facts("link")?.kind, "symlink");
    assert.equal(folder.facts("gone"), undefined);
    assert.equal(folder.readLink("link"), "/etc/hostname");
  });

  it("reads links of any length and bytes", () => {
    folder.createLink(POINT, "long", "x".repeat(4095));
    folder.createLink(POINT, "odd", ODD_NAME);
    assert.deepEqual([folder.readLink("long"), folder.readLink("odd")], ["x".repeat(4095), ODD_NAME]);
    assert.deepEqual(readlinkSync(at("odd"), "buffer"), bytesFromPath(ODD_NAME));
  });

  it("does not wait for the other end of a fifo", () => {
    folder.createNode(POINT, "fifo", { ...folder.ownFacts(), kind: "fifo", mode: 0o600 });
    const fd = folder.openFile("fifo");
    closeFile(fd);
    assert.equal(folder.facts("fifo")?.kind, "fifo");
  });

  it("closes once, however often it is asked to", () => {
    const again = folder.duplicate();
    again.close();
    again.close();
    assert.throws(() => again.names(), refusedWith("EBADF"));
    assert.equal(folder.names().length, 0);
  });
});

describe("changing names in a folder", () => {
  it("creates files only where nothing is, and never through a link", () => {
    const fd = folder.createFile(POINT, "f", 0o640);
    writeBytes(POINT, fd, Buffer.from("content"), "f");
    closeFile(fd);
    assert.equal(readFileSync(at("f"), "utf8"), "content");
    assert.throws(() => folder.createFile(POINT, "f", 0o600), refusedWith("EEXIST"));
    symlinkSync("../out/new", at("link"));
    assert.throws(() => folder.createFile(POINT, "link", 0o600), refusedWith("EEXIST"));
    assert.equal(existsSync(join(root, "out/new")), false);
  });

  it("moves to where nothing is, and refuses to replace", () => {
    for (const name of ["a", "b"]) writeFileSync(at(name), name);
    assert.throws(() => folder.move(POINT, "a", folder, "b"), refusedWith("EEXIST"));
    folder.move(POINT, "a", folder, "c");
    assert.deepEqual([readFileSync(at("b"), "utf8"), readFileSync(at("c"), "utf8")], ["b", "a"]);
  });

  it("exchanges two names of any kinds, in other folders too, and refuses if one is missing", () => {
    mkdirSync(at("d"));
    writeFileSync(at("f"), "file");
    using other = folder.openChild("d");
    other.createLink(POINT, "link", "target");
    folder.exchange(POINT, "f", other, "link");
    assert.deepEqual([readlinkSync(at("f")), readFileSync(at("d/link"), "utf8")], ["target", "file"]);
    assert.throws(() => folder.exchange(POINT, "f", other, "gone"), refusedWith("ENOENT"));
  });

  it("gives a file a second name, removes names, and refuses to remove what is of the other kind or not empty", () => {
    writeFileSync(at("f"), "content");
    mkdirSync(at("d/e"), { recursive: true });
    folder.createHardLink(POINT, "g", folder, "f");
    assert.equal(folder.facts("f")?.nlink, 2);
    folder.removeFile(POINT, "f");
    assert.equal(readFileSync(at("g"), "utf8"), "content");
    assert.throws(() => folder.removeFolder(POINT, "d"), refusedWith("ENOTEMPTY"));
    assert.throws(() => folder.removeFile(POINT, "d"), refusedWith("EISDIR"));
    assert.throws(() => folder.removeFolder(POINT, "g"), refusedWith("ENOTDIR"));
  });

  it("[X1] gives a link a second name, not what it points to", () => {
    symlinkSync("../out/secret", at("link"));
    folder.createHardLink(POINT, "second", folder, "link");
    assert.equal(readlinkSync(at("second")), "../out/secret");
    assert.equal(statSync(join(root, "out/secret")).nlink, 1);
  });

  it("[X1] changes mode, owner and times of a link's own, or not at all, never of what it points to", () => {
    const secret = join(root, "out/secret");
    const before = statSync(secret);
    symlinkSync("../out/secret", at("link"));
    assert.throws(() => folder.setMode(POINT, "link", 0o777), refusedWith("EOPNOTSUPP", "ENOTSUP"));
    folder.setTimes(POINT, "link", { mtime: [1000, 5], atime: [2000, 6] });
    if (NEEDS_ROOT === false) folder.setOwner(POINT, "link", 1234, 5678);
    const after = statSync(secret);
    assert.deepEqual([after.mode, after.uid, after.mtimeMs], [before.mode, before.uid, before.mtimeMs]);
    assert.deepEqual(
      [folder.facts("link")?.mtime, folder.facts("link")?.atime],
      [
        [1000, 5],
        [2000, 6],
      ],
    );
  });

  it("sets modes with all their bits, and only the times it is given", () => {
    writeFileSync(at("f"), "");
    folder.setMode(POINT, "f", 0o6751);
    folder.setTimes(POINT, "f", { mtime: [-1, 999_999_999], atime: [4_000_000_000, 1] });
    folder.setTimes(POINT, "f", { mtime: [7, 8] });
    const { mode, mtime, atime } = folder.facts("f")!;
    assert.deepEqual([mode, mtime, atime], [0o6751, [7, 8], [4_000_000_000, 1]]);
    folder.setTimes(POINT, "f", { mtime: [-1, 999_999_999] });
    assert.equal(lstatSync(at("f"), { bigint: true }).mtimeNs, -1n);
  });

  it("says whether this user may make names in it", { skip: NEEDS_ROOT }, () => {
    assert.equal(folder.isWritable(), true);
    process.seteuid?.(65_534);
    try {
      assert.equal(folder.isWritable(), false);
    } finally {
      process.seteuid?.(0);
    }
  });

  it("passes its failpoint before anything happens", () => {
    writeFileSync(at("f"), "content");
    const before = folder.facts("f");
    armFailpoints("test.folder=error");
    const facts = folder.ownFacts();
    for (const change of [
      () => folder.createFolder(POINT, "new", 0o700),
      () => folder.createFile(POINT, "new", 0o700),
      () => folder.createLink(POINT, "new", "target"),
      () => folder.createNode(POINT, "new", { ...facts, kind: "fifo" }),
      () => folder.createHardLink(POINT, "new", folder, "f"),
      () => folder.removeFile(POINT, "f"),
      () => folder.removeFolder(POINT, "f"),
      () => folder.move(POINT, "f", folder, "new"),
      () => folder.exchange(POINT, "f", folder, "f"),
      () => folder.setMode(POINT, "f", 0),
      () => folder.setOwner(POINT, "f", 1, 1),
      () => folder.setTimes(POINT, "f", { mtime: [1, 1] }),
    ]) {
      assert.throws(change, refusedWith("EIO"));
    }
    assert.deepEqual(folder.names(), ["f"]);
    assert.deepEqual(folder.facts("f"), before);
  });
});
