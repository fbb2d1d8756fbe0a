import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { mountsBelow } from "../../system/mount/mount-table.ts";
import { systemProgram } from "../../system/process/programs.ts";

const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";
const NEEDS_FUSE = systemProgram("fuse-overlayfs") === undefined ? "needs fuse-overlayfs" : NEEDS_ROOT;
const WAYS = pathToFileURL(join(import.meta.dirname, "ways.ts")).href;
const LAYOUT = pathToFileURL(join(import.meta.dirname, "layout.ts")).href;
const FAILPOINTS = pathToFileURL(join(import.meta.dirname, "../../system/failpoints.ts")).href;
const UID = 12_345;
const REMEMBERED = "overlay-ways";

let root: string;
let state: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-ways-"));
  state = join(root, "state");
  mkdirSync(state);
  chmodSync(root, 0o755);
});

afterEach(() => {
  for (const point of mountsBelow(root)) spawnSync("umount", ["--lazy", point]);
  rmSync(root, { recursive: true, force: true });
});

/** Probing is once per process, so each case has its own. `before` are programs to start it with. */
function inProcess(
  expression: string,
  { before = [], trap = "" }: { before?: readonly string[]; trap?: string } = {},
) {
  const script = `
    import { armFailpoints } from ${JSON.stringify(FAILPOINTS)};
    import { OVERLAY_WAYS } from ${JSON.stringify(LAYOUT)};
    import { firstWorkingWay, probeWay } from ${JSON.stringify(WAYS)};
    armFailpoints(${JSON.stringify(trap)});
    const state = ${JSON.stringify(state)};
    console.log(JSON.stringify(await (${expression})));`;
  writeFileSync(join(root, "script.ts"), script);
  const [program = "", ...args] = [...before, process.execPath, join(root, "script.ts")];
  return spawnSync(program, args, { encoding: "utf8", cwd: "/" });
}

function resultOf(run: ReturnType<typeof inProcess>): unknown {
  assert.equal(run.status, 0, run.stderr);
  assert.deepEqual(
    readdirSync(state).filter((name) => name !== REMEMBERED),
    [],
  );
  assert.deepEqual(mountsBelow(root), []);
  return JSON.parse(run.stdout);
}

const AS_USER = ["setpriv", "--reuid", String(UID), "--regid", String(UID), "--clear-groups"];

describe("the ways to mount an overlay", { skip: NEEDS_ROOT }, () => {
  it("[O1] all work for root here, and nothing is left behind", { skip: NEEDS_FUSE }, () => {
    assert.deepEqual(resultOf(inProcess("Promise.all(OVERLAY_WAYS.map((way) => probeWay(way, state)))")), [
      { way: "kernel", works: true },
      { way: "user-namespace", works: true },
      { way: "fuse", works: true },
    ]);
  });

  it("without privilege the kernel's way needs root, and a user namespace will do", () => {
    chownSync(state, UID, UID);
    assert.deepEqual(resultOf(inProcess(`probeWay("kernel", state)`, { before: AS_USER })), {
      way: "kernel",
      works: false,
      reason: "mounting needs root",
    });
    assert.deepEqual(resultOf(inProcess("firstWorkingWay(state)", { before: AS_USER })), {
      way: "user-namespace",
    });
  });

  it("root without the right to mount is told so", () => {
    const before = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"];
    const result = resultOf(inProcess(`probeWay("kernel", state)`, { before }));
    assert.match(
      JSON.stringify(result),
      /"works":false,"reason":"(this process may not mount|trusted attributes)/,
    );
  });

  it("root inside a user namespace is not sent the kernel's way, whose marks it can't leave", () => {
    const before = ["unshare", "--user", "--map-root-user"];
    const result = resultOf(inProcess("firstWorkingWay(state)", { before }));
    assert.deepEqual(result, { way: "user-namespace" });
  });

  it("says for each allowed way why it does not work", () => {
    chownSync(state, UID, UID);
    const run = inProcess(`firstWorkingWay(state, ["kernel", "fuse"])`, { before: AS_USER });
    assert.match(
      JSON.stringify(resultOf(run)),
      /kernel: mounting needs root; fuse: .*(\/dev\/fuse|not installed)/,
    );
  });

  it("[O1] each is tried once per process", () => {
    const twice = `Promise.all([probeWay("kernel", state), probeWay("kernel", "/nowhere")])`;
    const works = { way: "kernel", works: true };
    assert.deepEqual(resultOf(inProcess(twice)), [works, works]);
  });

  for (const point of [
    "overlay.probe-create",
    "overlay.probe-layers",
    "overlay.probe-remove",
    "overlay.probe-unmount",
  ]) {
    it(`[O1] the next one removes what one killed at ${point} has left`, { skip: NEEDS_FUSE }, () => {
      const way = point === "overlay.probe-unmount" ? "fuse" : "user-namespace";
      const killed = inProcess(`probeWay(${JSON.stringify(way)}, state)`, { trap: `${point}:1=kill` });
      assert.equal(killed.signal, "SIGKILL");
      const next = resultOf(inProcess(`probeWay("user-namespace", state)`));
      assert.deepEqual(next, { way: "user-namespace", works: true });
    });
  }

  it("[O1] the kernel's way leaves nothing behind even when it is killed", () => {
    const killed = inProcess(`probeWay("kernel", state)`, { trap: "overlay.probe-layers:3=kill" });
    assert.equal(killed.signal, "SIGKILL");
    assert.deepEqual([readdirSync(state), mountsBelow(root)], [[], []]);
  });

  it("[O1] one that works is remembered for processes with the same rights, and tried again by others", () => {
    const first = `firstWorkingWay(state, ["kernel"])`;
    const notTried = { trap: "overlay.probe-layers=error" };
    assert.deepEqual(resultOf(inProcess(first)), { way: "kernel" });
    assert.deepEqual(resultOf(inProcess(first, notTried)), { way: "kernel" });
    const weaker = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"];
    assert.match(JSON.stringify(resultOf(inProcess(first, { before: weaker }))), /"reason":"kernel: /);
    writeFileSync(join(state, REMEMBERED), "");
    assert.deepEqual(resultOf(inProcess(first)), { way: "kernel" });
    assert.deepEqual(resultOf(inProcess(first, notTried)), { way: "kernel" });
  });

  it("[O1] is tried again after a process was killed, or found no room, while it remembered one", () => {
    const first = "firstWorkingWay(state)";
    assert.deepEqual(resultOf(inProcess(first, { trap: "overlay.remember-way=enospc" })), { way: "kernel" });
    assert.equal(inProcess(first, { trap: "overlay.remember-way:1=kill" }).signal, "SIGKILL");
    assert.deepEqual(resultOf(inProcess(first)), { way: "kernel" });
    assert.deepEqual(readdirSync(state), [REMEMBERED]);
  });

  it("writes nothing to the disk to find that the kernel's way works", () => {
    const before = statSync(state, { bigint: true }).ctimeNs;
    assert.deepEqual(resultOf(inProcess(`probeWay("kernel", state)`)), { way: "kernel", works: true });
    assert.equal(statSync(state, { bigint: true }).ctimeNs, before);
  });
});
