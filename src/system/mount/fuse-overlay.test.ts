import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { pathFromBytes } from "../../core/paths/byte-path.ts";
import { Folder } from "../calls/folder.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { mountFuseOverlay, unmountFuse, whyNoFuse } from "./fuse-overlay.ts";
import { mountsBelow } from "./mount-table.ts";
import { isMountPoint } from "./unmount.ts";

const POINT = failpoint("test.fuse-overlay");
const SKIP = process.getuid?.() === 0 ? (whyNoFuse() ?? false) : "needs root";
const NAMES = ["lower", "upper", "work", "merged"] as const;
const ODD_NAMES = {
  "commas and equals": "a,b=c",
  "blanks and backslashes": "a b\\ c\\,",
  "a line end": "a\nb",
  "bytes that are not UTF-8": pathFromBytes(Buffer.from([0x61, 0xff, 0xfe])),
};

let root: string;
let opened: Folder[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-fuse-overlay-"));
  opened = [];
});

afterEach(() => {
  armFailpoints(undefined);
  for (const folder of opened) folder.close();
  for (const point of mountsBelow(root)) spawnSync("umount", ["--lazy", point]);
  rmSync(root, { recursive: true, force: true });
});

function open(folder: Folder): Folder {
  opened.push(folder);
  return folder;
}

function place(name: string) {
  using above = Folder.open(root);
  above.createFolder(POINT, name, 0o755);
  const parent = open(above.openChild(name));
  for (const child of NAMES) parent.createFolder(POINT, child, 0o755);
  const [lower, upper, work, merged] = NAMES.map((child) => open(parent.openChild(child)));
  writeFileSync(`/proc/self/fd/${lower!.fd}/file`, "lower");
  return { layers: { lower: lower!, upper: upper!, work: work! }, merged: merged!, parent };
}

/** Processes of fuse-overlayfs that have something below the test's folder open. */
function servers(): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "fuse-overlayfs") return false;
      return execFileSync("ls", ["-l", `/proc/${pid}/fd`], { encoding: "utf8" }).includes(root);
    } catch {
      // It ended while we looked.
      return false;
    }
  });
}

describe("mountFuseOverlay", { skip: SKIP }, () => {
  it("isolates, and is gone with its process after unmounting", async () => {
    const { layers, merged, parent } = place("here");
    await mountFuseOverlay(POINT, layers, merged);
    assert.equal(servers().length, 1);
    writeFileSync(join(merged.path, "file"), "changed");
    assert.equal(readFileSync(join(layers.lower.path, "file"), "utf8"), "lower");
    assert.equal(readFileSync(join(layers.upper.path, "file"), "utf8"), "changed");
    assert.equal(await unmountFuse(POINT, merged.path), "done");
    assert.ok(!isMountPoint(parent, "merged"));
    assert.deepEqual(servers(), []);
    assert.equal(await unmountFuse(POINT, merged.path), "done");
  });

  for (const [what, name] of Object.entries(ODD_NAMES)) {
    it(`mounts below a name with ${what}`, async () => {
      const { layers, merged, parent } = place(name);
      await mountFuseOverlay(POINT, layers, merged);
      using seen = parent.openChild("merged");
      assert.deepEqual(seen.names(), ["file"]);
      seen.close();
      assert.equal(await unmountFuse(POINT, merged.path), "done");
    });
  }

  it("takes an original with a colon in its path, and refuses an upper folder with one, with the reason", async () => {
    const [odd, plain] = [place("a:b"), place("plain")];
    await mountFuseOverlay(POINT, { ...plain.layers, lower: odd.layers.lower }, plain.merged);
    assert.deepEqual(readdirSync(plain.merged.path), ["file"]);
    assert.equal(await unmountFuse(POINT, plain.merged.path), "done");
    await assert.rejects(mountFuseOverlay(POINT, odd.layers, odd.merged), /there is a colon in the path/);
  });

  it("says what fuse-overlayfs said when it fails, and nothing is mounted", async () => {
    const { layers, merged, parent } = place("here");
    const work = open(Folder.open("/proc"));
    await assert.rejects(
      mountFuseOverlay(POINT, { ...layers, work }, merged),
      /could not mount on .*: .*(proc|workdir)/,
    );
    assert.ok(!isMountPoint(parent, "merged"));
    assert.deepEqual(servers(), []);
  });

  it("is bounded in time, and then nothing is mounted and nobody is left", async () => {
    let late: unknown;
    // On a busy machine this process may sleep until the mount is there, so it is tried again.
    for (let tries = 0; tries < 20 && late === undefined; tries += 1) {
      const { layers, merged, parent } = place(`try-${tries}`);
      late = await mountFuseOverlay(POINT, layers, merged, { limitMs: 0 }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (late === undefined) assert.equal(await unmountFuse(POINT, merged.path), "done");
      assert.ok(!isMountPoint(parent, "merged"));
      assert.deepEqual(servers(), []);
    }
    assert.match(String(late), /longer than 0 ms/);
  });

  it("[W5] ends a mount whose process no longer answers, in bounded time", async () => {
    const { layers, merged, parent } = place("here");
    await mountFuseOverlay(POINT, layers, merged);
    const [server = assert.fail("there is no process")] = servers();
    process.kill(Number(server), "SIGSTOP");
    // If we wait for it after all, the test fails instead of waiting too.
    const guard = spawn("sh", ["-c", `sleep 20; kill -KILL ${server}`], { stdio: "ignore" });
    try {
      await assert.rejects(
        unmountFuse(POINT, merged.path, { limitMs: 300 }),
        /is unmounted, but fuse-overlayfs \(pid \d+\) has not ended/,
      );
      assert.ok(!isMountPoint(parent, "merged"));
      assert.equal(guard.exitCode, null, "it was waited for");
    } finally {
      guard.kill();
      process.kill(Number(server), "SIGKILL");
    }
  });

  it("[O5] says that a mount is busy, and leaves it alone", async () => {
    const { layers, merged, parent } = place("here");
    await mountFuseOverlay(POINT, layers, merged);
    const fd = openSync(join(merged.path, "file"), "r");
    assert.equal(await unmountFuse(POINT, merged.path), "busy");
    closeSync(fd);
    const other = spawn("unshare", ["--mount", "sh", "-c", "echo ready && read line"], { stdio: "pipe" });
    await once(other.stdout, "data");
    assert.equal(await unmountFuse(POINT, merged.path), "busy");
    assert.ok(isMountPoint(parent, "merged"));
    other.stdin.end();
    await once(other, "exit");
    assert.equal(await unmountFuse(POINT, merged.path), "done");
  });

  it("unmounts what a killed process has left", async () => {
    const { layers, merged, parent } = place("here");
    await mountFuseOverlay(POINT, layers, merged);
    for (const pid of servers()) process.kill(Number(pid), "SIGKILL");
    while (servers().length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(isMountPoint(parent, "merged"));
    assert.equal(await unmountFuse(POINT, merged.path), "done");
    assert.ok(!isMountPoint(parent, "merged"));
  });

  it("works without privilege for a user who may open /dev/fuse", () => {
    const [uid, base] = [12_345, join(root, "of-user")];
    mkdirSync(base);
    chmodSync(root, 0o755);
    writeFileSync(
      join(root, "passwd"),
      `${readFileSync("/etc/passwd", "utf8")}tester:x:${uid}:${uid}::/:/bin/sh\n`,
    );
    execFileSync("mknod", ["-m", "666", join(root, "fuse"), "c", "10", "229"]);
    for (const name of [".", ...NAMES]) {
      if (name !== ".") mkdirSync(join(base, name));
      chownSync(join(base, name), uid, uid);
    }
    const script = `
      import { Folder } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "../calls/folder.ts")).href)};
      import { mountFuseOverlay, unmountFuse } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "fuse-overlay.ts")).href)};
      import { closeSync, openSync, writeFileSync } from "node:fs";
      const [lower, upper, work, merged] = ${JSON.stringify(NAMES.map((name) => join(base, name)))}.map((path) => Folder.open(path));
      await mountFuseOverlay("test", { lower, upper, work }, merged);
      writeFileSync(merged.path + "/made", "x");
      const fd = openSync(merged.path + "/made", "r");
      const busy = await unmountFuse("test", merged.path);
      closeSync(fd);
      console.log(process.getuid(), busy, await unmountFuse("test", merged.path));`;
    writeFileSync(join(root, "script.ts"), script);
    const prepare = `mount --bind '${root}/fuse' /dev/fuse && mount --bind '${root}/passwd' /etc/passwd`;
    const become = `setpriv --reuid ${uid} --regid ${uid} --clear-groups '${process.execPath}' '${root}/script.ts'`;
    const said = execFileSync("unshare", ["--mount", "sh", "-c", `${prepare} && exec ${become}`], {
      encoding: "utf8",
    });
    assert.equal(said, `${uid} busy done\n`);
    assert.ok(existsSync(join(base, "upper/made")));
    assert.deepEqual(servers(), []);
  });
});
