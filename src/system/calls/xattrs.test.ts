import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { mountImage } from "../../../test/support/file-systems.ts";
import { bytesFromPath, pathFromBytes, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { failedWith } from "./errno.ts";
import { Folder } from "./folder.ts";
import { readXattrs, sameXattrs, writeXattrs, type Xattrs } from "./xattrs.ts";

const POINT = failpoint("test.xattrs");
const ODD_NAME = pathFromBytes(Buffer.from([0x61, 0xff, 0x0a, 0x62]));
const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";
/** cap_net_raw+ep, as the kernel stores it. */
const CAPABILITY = "AQAAAgAgAAAAAAAAAAAAAAAAAAA=";

let root: string;
let folder: Folder;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-xattrs-"));
  writeFileSync(join(root, "f"), "");
  folder = Folder.open(root);
});

afterEach(() => {
  armFailpoints(undefined);
  folder.close();
  rmSync(root, { recursive: true, force: true });
});

const base64 = (text: string) => Buffer.from(text).toString("base64");
const write = (name: string, wanted: Xattrs) =>
  writeXattrs(POINT, folder, name, wanted, readXattrs(folder, name));

function program(...[command, ...args]: readonly [string, ...string[]]): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    env: { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` },
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

describe("extended attributes", () => {
  it("[A11] are read as other programs wrote them, and written as others read them", () => {
    program("setfattr", "-n", "user.one", "-v", "value", join(root, "f"));
    assert.deepEqual(readXattrs(folder, "f"), { "user.one": base64("value") });
    assert.deepEqual(write("f", { "user.one": base64("other"), "user.two": base64("\u0000\u0001") }), []);
    const shown = program("getfattr", "-d", "-e", "base64", "--absolute-names", join(root, "f"));
    assert.ok(
      shown.includes(`user.one=0s${base64("other")}`) &&
        shown.includes(`user.two=0s${base64("\u0000\u0001")}`),
      shown,
    );
  });

  it("[A11] become exactly those that are wanted: others go, missing ones come, empty values count", () => {
    write("f", { "user.goes": base64("1"), "user.stays": base64("2"), "user.changes": base64("3") });
    const wanted = { "user.changes": base64("4"), "user.empty": "", "user.stays": base64("2") };
    assert.deepEqual(write("f", wanted), []);
    assert.deepEqual(readXattrs(folder, "f"), wanted);
    write("f", {});
    assert.deepEqual(readXattrs(folder, "f"), {});
  });

  it("[A11] carry access control lists there and back, default ones of folders included", () => {
    mkdirSync(join(root, "d"));
    mkdirSync(join(root, "copy"));
    program("setfacl", "-m", "u:1234:rx,g:5678:w", join(root, "d"));
    program("setfacl", "-d", "-m", "u:1234:rwx", join(root, "d"));
    const lists = readXattrs(folder, "d");
    assert.deepEqual(Object.keys(lists), ["system.posix_acl_access", "system.posix_acl_default"]);
    assert.deepEqual(write("copy", lists), []);
    const shown = (name: string) =>
      program("getfacl", "--omit-header", "--numeric", "--absolute-names", join(root, name));
    assert.equal(shown("copy"), shown("d"));
    assert.ok(shown("copy").includes("default:user:1234:rwx"));
  });

  it("[A11] carry file capabilities and trusted attributes", { skip: NEEDS_ROOT }, () => {
    const wanted = { "security.capability": CAPABILITY, "trusted.drydock": base64("t") };
    assert.deepEqual(write("f", wanted), []);
    assert.deepEqual(readXattrs(folder, "f"), wanted);
    assert.match(program("getcap", join(root, "f")), /cap_net_raw[=+]ep/);
  });

  it("are named, and the others written, where this user may not set some", { skip: NEEDS_ROOT }, () => {
    program("chown", "65534", join(root, "f"));
    program("chmod", "755", root);
    process.seteuid?.(65_534);
    try {
      assert.deepEqual(write("f", { "trusted.drydock": base64("t"), "user.one": base64("1") }), [
        "trusted.drydock",
      ]);
      assert.deepEqual(readXattrs(folder, "f"), { "user.one": base64("1") });
    } finally {
      process.seteuid?.(0);
    }
  });

  it("[X1] are those of a link itself, never of what it points to", { skip: NEEDS_ROOT }, () => {
    symlinkSync("f", join(root, "link"));
    write("f", { "user.one": base64("1") });
    assert.deepEqual(readXattrs(folder, "link"), {});
    write("link", { "trusted.drydock": base64("t") });
    assert.deepEqual(readXattrs(folder, "link"), { "trusted.drydock": base64("t") });
    assert.deepEqual(readXattrs(folder, "f"), { "user.one": base64("1") });
  });

  it("are read of names of any bytes, of the folder itself, and of fifos", () => {
    writeFileSync(bytesFromPath(`${root}/${ODD_NAME}`), "");
    write(ODD_NAME, { "user.one": base64("1") });
    write(ROOT_PATH, { "user.root": base64("2") });
    folder.createNode(POINT, "fifo", { ...folder.ownFacts(), kind: "fifo", mode: 0o600 });
    assert.deepEqual(readXattrs(folder, ODD_NAME), { "user.one": base64("1") });
    assert.deepEqual(readXattrs(folder, ROOT_PATH), { "user.root": base64("2") });
    assert.deepEqual(readXattrs(folder, "fifo"), {});
  });

  it("leave out overlay's private marks", { skip: NEEDS_ROOT }, () => {
    program("setfattr", "-n", "trusted.overlay.opaque", "-v", "y", root);
    program("setfattr", "-n", "user.overlay.origin", "-v", "y", root);
    program("setfattr", "-n", "user.overlays", "-v", "mine", root);
    assert.deepEqual(readXattrs(folder, ROOT_PATH), { "user.overlays": base64("mine") });
  });

  it("[A11] may be many, and large", { skip: NEEDS_ROOT }, () => {
    using image = mountImage("xfs", { megabytes: 320 });
    writeFileSync(join(image.path, "f"), "");
    using large = Folder.open(image.path);
    const names = Array.from({ length: 150 }, (_, at) => `user.${"n".repeat(60)}${at + 100}`);
    const wanted = {
      ...Object.fromEntries(names.map((name) => [name, base64(name)])),
      "user.z": base64("x".repeat(60_000)),
    };
    assert.deepEqual(writeXattrs(POINT, large, "f", wanted, {}), []);
    assert.deepEqual(readXattrs(large, "f"), wanted);
  });

  it("say so when the entry is gone, and pass their failpoint before each change", () => {
    assert.throws(
      () => readXattrs(folder, "gone"),
      (thrown) => failedWith(thrown, "ENOENT"),
    );
    armFailpoints("test.xattrs=error");
    assert.throws(
      () => write("f", { "user.one": base64("1") }),
      (thrown) => failedWith(thrown, "EIO"),
    );
    assert.deepEqual(readXattrs(folder, "f"), {});
  });

  it("are the same only with the same names and values", () => {
    assert.equal(sameXattrs({}, {}), true);
    assert.equal(sameXattrs({ a: "1", b: "2" }, { b: "2", a: "1" }), true);
    for (const [a, b] of [
      [{ a: "1" }, {}],
      [{}, { a: "1" }],
      [{ a: "1" }, { a: "2" }],
      [{ a: "1" }, { b: "1" }],
    ] as const) {
      assert.equal(sameXattrs(a, b), false);
    }
  });
});
