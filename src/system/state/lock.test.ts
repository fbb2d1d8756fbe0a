import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Folder } from "../calls/folder.ts";
import { tryLock, whileLocked } from "./lock.ts";

describe("locks", () => {
  let folder: Folder;

  beforeEach(() => {
    folder = Folder.open(mkdtempSync(join(tmpdir(), "drydock-lock-")));
  });

  afterEach(() => {
    folder.close();
    rmSync(folder.path, { recursive: true, force: true });
  });

  it("are had by one alone, or shared by many", () => {
    using other = folder.duplicate();
    using third = folder.duplicate();
    assert.deepEqual(
      [tryLock(folder, "shared"), tryLock(other, "shared"), tryLock(third)],
      [true, true, false],
    );
    other.close();
    assert.equal(tryLock(folder), true);
    assert.equal(tryLock(third, "shared"), false);
  });

  it("are free again after the work, also when it fails", () => {
    const isHeld = () => {
      using other = folder.duplicate();
      return !tryLock(other);
    };
    assert.equal(whileLocked(folder, isHeld), true);
    const failing = () => {
      throw new TypeError("the work failed");
    };
    assert.throws(() => whileLocked(folder, failing), TypeError);
    assert.equal(isHeld(), false);
  });
});
