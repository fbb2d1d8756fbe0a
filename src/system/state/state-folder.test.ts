import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { ensureStateFile, ensureStateFolder } from "./state-folder.ts";

const POINT = failpoint("test.state");
const isRoot = process.geteuid?.() === 0;
const NOBODY = 65534;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drydock-state-"));
});

afterEach(() => {
  armFailpoints(undefined);
  rmSync(folder, { recursive: true, force: true });
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe("ensureStateFolder", () => {
  it("makes the folder and those above it for the user alone, and leaves one that is there", () => {
    const path = join(folder, "a", "b", "c");
    ensureStateFolder(POINT, path);
    assert.deepEqual([modeOf(join(folder, "a")), modeOf(path)], [0o700, 0o700]);
    chmodSync(path, 0o755);
    ensureStateFolder(POINT, path);
    assert.equal(modeOf(path), 0o755);
  });

  it("follows a link to a folder of the user", () => {
    mkdirSync(join(folder, "real"), { mode: 0o700 });
    symlinkSync("real", join(folder, "link"));
    ensureStateFolder(POINT, join(folder, "link"));
  });

  it("[X4] refuses a path that is a file, lies below one, or is a link to nothing", () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    symlinkSync("nothing", join(folder, "dangling"));
    assert.throws(() => ensureStateFolder(POINT, file), { name: "StateError", message: /is not a folder/ });
    assert.throws(() => ensureStateFolder(POINT, join(file, "below")), {
      name: "StateError",
      message: /\(ENOTDIR\)/,
    });
    assert.throws(() => ensureStateFolder(POINT, join(folder, "dangling")), {
      name: "StateError",
      message: /\(ENOENT\)/,
    });
  });

  it("[X4] refuses a place where no folder can be made", () => {
    assert.throws(() => ensureStateFolder(POINT, "/proc/drydock"), {
      name: "StateError",
      message: /mkdir failed on/,
    });
    const long = join(folder, "x".repeat(300));
    assert.throws(() => ensureStateFolder(POINT, long), { name: "StateError", message: /\(ENAMETOOLONG\)/ });
  });

  it("[X3] refuses a folder that others can write to", () => {
    for (const mode of [0o720, 0o702, 0o777, 0o1777]) {
      chmodSync(folder, mode);
      const refusal = { name: "StateError", message: /written by other users/, hint: /chmod go-w/ };
      assert.throws(() => ensureStateFolder(POINT, folder), refusal);
    }
  });

  it("[X3] refuses a folder of another user", () => {
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    const path = isRoot ? folder : "/";
    const refusal = { name: "StateError", message: /belongs to another user/, hint: /of your own/ };
    assert.throws(() => ensureStateFolder(POINT, path), refusal);
  });

  it("passes its failpoint before each change, and makes nothing when that fails", () => {
    armFailpoints("test.state:3=error");
    const path = join(folder, "a", "b");
    assert.throws(() => ensureStateFolder(POINT, path), { code: "EIO" });
    assert.ok(existsSync(join(folder, "a")));
    assert.ok(!existsSync(path));
    ensureStateFolder(POINT, path);
    assert.ok(existsSync(path));
  });
});

describe("ensureStateFile", () => {
  it("makes an empty file for the user alone, and leaves one that is there", () => {
    const path = join(folder, "file");
    ensureStateFile(POINT, path);
    assert.deepEqual([modeOf(path), statSync(path).size], [0o600, 0]);
    writeFileSync(path, "content");
    ensureStateFile(POINT, path);
    assert.equal(statSync(path).size, 7);
  });

  it("[X4] refuses what is not a file, and a link to nothing", () => {
    mkdirSync(join(folder, "folder"));
    symlinkSync("nothing", join(folder, "dangling"));
    assert.throws(() => ensureStateFile(POINT, join(folder, "folder")), {
      name: "StateError",
      message: /is not a file/,
    });
    assert.throws(() => ensureStateFile(POINT, join(folder, "dangling")), {
      name: "StateError",
      message: /\(ENOENT\)/,
    });
  });

  it("[X3] refuses a file that others can write to, or that is another user's", () => {
    const path = join(folder, "file");
    ensureStateFile(POINT, path);
    chmodSync(path, 0o620);
    assert.throws(() => ensureStateFile(POINT, path), {
      name: "StateError",
      message: /written by other users/,
    });
    chmodSync(path, 0o600);
    if (isRoot) chownSync(path, NOBODY, NOBODY);
    assert.throws(() => ensureStateFile(POINT, isRoot ? path : "/etc/passwd"), {
      message: /belongs to another user/,
    });
  });
});
