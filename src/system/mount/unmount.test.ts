import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { Folder } from "../calls/folder.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { mountsBelow } from "./mount-table.ts";
import { isMountPoint, UnmountError, unmount } from "./unmount.ts";

const POINT = failpoint("test.unmount");
const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-unmount-"));
  mkdirSync(join(root, "at"));
});

afterEach(() => {
  armFailpoints(undefined);
  for (const point of mountsBelow(root)) spawnSync("umount", ["--lazy", point]);
  rmSync(root, { recursive: true, force: true });
});

function mount(name: string): string {
  execFileSync("mount", ["-t", "tmpfs", "drydock-test", join(root, name)]);
  return join(root, name);
}

describe("unmount", { skip: NEEDS_ROOT }, () => {
  it("unmounts", async () => {
    assert.equal(await unmount(POINT, mount("at")), "done");
    assert.deepEqual(mountsBelow(root), []);
  });

  it("[O5] does not try where nothing is mounted, or nothing is", async () => {
    armFailpoints("test.unmount=error");
    assert.equal(await unmount(POINT, join(root, "at")), "done");
    assert.equal(await unmount(POINT, join(root, "nothing")), "done");
  });

  it("[O5] says that a mount is busy, and leaves it alone", async () => {
    const at = mount("at");
    writeFileSync(join(at, "file"), "");
    const fd = openSync(join(at, "file"), "r");
    try {
      assert.equal(await unmount(POINT, at), "busy");
      assert.deepEqual(mountsBelow(root), [at]);
    } finally {
      closeSync(fd);
    }
    assert.equal(await unmount(POINT, at), "done");
  });

  it("unmounts at a name of any bytes", async () => {
    const name = pathFromBytes(Buffer.from("a, \n\\\xff", "latin1"));
    mkdirSync(bytesFromPath(join(root, name)));
    using folder = Folder.open(root);
    using child = folder.openChild(name);
    execFileSync("mount", ["-t", "tmpfs", "drydock-test", `/proc/${process.pid}/fd/${child.fd}`]);
    assert.ok(isMountPoint(folder, name));
    assert.equal(await unmount(POINT, join(root, name)), "done");
    assert.ok(!isMountPoint(folder, name));
  });

  it("after a failure nothing is mounted, and the error says so", async () => {
    const at = mount("at");
    armFailpoints("test.unmount:1=error");
    await assert.rejects(unmount(POINT, at), (thrown) => {
      assert.ok(thrown instanceof UnmountError);
      assert.match(thrown.message, /could not be unmounted: .*EIO.* detached: nothing is mounted there/);
      return !thrown.isStillMounted;
    });
    assert.deepEqual(mountsBelow(root), []);
  });

  it("is bounded in time, and then nothing is mounted either", async () => {
    let late: unknown;
    // On a busy machine this process may sleep until the unmount is done, so it is tried again.
    for (let tries = 0; tries < 20 && late === undefined; tries += 1) {
      const at = mount("at");
      // So much that it can't be let go of within the shortest time that can be waited.
      execFileSync("fallocate", ["--length", "512M", join(at, "file")]);
      late = await unmount(POINT, at, { limitMs: 0 }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      assert.deepEqual(mountsBelow(root), []);
    }
    assert.ok(late instanceof UnmountError);
    assert.match(late.message, /longer than 0 ms.*nothing is mounted there/);
  });

  it("says that it is still mounted if it can't be detached either", async () => {
    const at = mount("at");
    armFailpoints("test.unmount=error");
    await assert.rejects(
      unmount(POINT, at),
      (thrown) =>
        thrown instanceof UnmountError && thrown.isStillMounted && /still mounted/.test(thrown.message),
    );
    assert.deepEqual(mountsBelow(root), [at]);
  });

  it("does not follow a link to a mount", async () => {
    mount("at");
    symlinkSync("at", join(root, "link"));
    assert.equal(await unmount(POINT, join(root, "link")), "done");
    assert.deepEqual(mountsBelow(root), [join(root, "at")]);
  });
});
