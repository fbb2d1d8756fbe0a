import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { holdersOf, liveMounts } from "./live-mounts.ts";
import { mountsBelow } from "./mount-table.ts";

const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";

let root: string;
let at: string;
let source: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "drydock-live-mounts-"));
  at = join(root, "at");
  source = `drydock:${root}`;
  mkdirSync(at);
});

afterEach(async () => {
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  child = undefined;
  for (const point of mountsBelow(root)) spawnSync("umount", ["--lazy", point]);
  rmSync(root, { recursive: true, force: true });
});

/** Starts a program that says something when it is ready, and then stays. */
async function start(program: string, args: readonly string[], cwd = "/"): Promise<number> {
  child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout!, "data");
  return child.pid!;
}

function startScript(script: string, cwd = "/"): Promise<number> {
  return start(
    process.execPath,
    ["-e", `${script}; process.stdout.write("ready"); setInterval(() => {}, 1000)`],
    cwd,
  );
}

function mountHere(): void {
  execFileSync("mount", ["-t", "tmpfs", source, at]);
}

describe("liveMounts", { skip: NEEDS_ROOT }, () => {
  it("finds a mount in this namespace, and nothing that has another source", () => {
    assert.deepEqual(liveMounts(source), []);
    mountHere();
    assert.deepEqual(
      liveMounts(source)
        .filter(({ isOurs }) => isOurs)
        .map(({ pid, mountPoint }) => [pid, mountPoint]),
      [[process.pid, at]],
    );
    assert.deepEqual(liveMounts(`${source}x`), []);
  });

  it("finds a mount that only another namespace has, with a process that sees it, until that ends", async () => {
    const script = `mount -t tmpfs '${source}' '${at}' && echo ready && read line`;
    const pid = await start("unshare", ["--mount", "sh", "-c", script]);
    const [live, ...more] = liveMounts(source);
    assert.deepEqual([live?.pid, live?.mountPoint, live?.isOurs, more], [pid, at, false, []]);
    assert.ok(live!.command.length > 0);
    child!.stdin!.end();
    await once(child!, "exit");
    assert.deepEqual(liveMounts(source), []);
  });
});

describe("holdersOf", { skip: NEEDS_ROOT }, () => {
  /**
   * Tests at work beside this one make namespaces of their own, in which the mount is seen too for a while.
   */
  const holders = () => holdersOf(at).filter(({ pid }) => pid === child?.pid || pid === process.pid);
  const pids = () => holders().map((holder) => holder.pid);

  it("[O5] names a process that works in the mount", async () => {
    mountHere();
    const pid = await startScript("", at);
    assert.deepEqual(
      holders().map((holder) => [holder.pid, holder.path]),
      [[pid, at]],
    );
  });

  it("[O5] names a process that has a file in it open, once", async () => {
    mountHere();
    writeFileSync(join(at, "file"), "");
    const path = JSON.stringify(join(at, "file"));
    const pid = await startScript(`for (const n of [1, 2]) require("node:fs").openSync(${path}, "r")`);
    assert.deepEqual(pids(), [pid]);
  });

  it("[O5] names a process that runs a program in it", async () => {
    mountHere();
    copyFileSync("/bin/cat", join(at, "program"));
    execFileSync("chmod", ["755", join(at, "program")]);
    child = spawn(join(at, "program"), [], { cwd: "/", stdio: ["pipe", "pipe", "inherit"] });
    child.stdin!.write("ready");
    await once(child.stdout!, "data");
    const [holder] = holders();
    assert.deepEqual(
      [holder?.pid, holder?.command, holder?.path],
      [child.pid, "program", join(at, "program")],
    );
  });

  it("[O5] names a process that listens on a socket in it", async () => {
    mountHere();
    const path = JSON.stringify(join(at, "socket"));
    const script = `require("node:net").createServer().listen(${path}, () => process.stdout.write("ready"))`;
    const pid = await start(process.execPath, ["-e", script]);
    assert.deepEqual(pids(), [pid]);
  });

  it("[O5] names a process that sees the mount in a namespace of its own", async () => {
    mountHere();
    const pid = await start("unshare", ["--mount", "sh", "-c", "echo ready && read line"]);
    assert.deepEqual(pids(), [pid]);
  });

  it("names nobody who is under the mount, above it, or on another one inside it", async () => {
    mkdirSync(join(at, "under"));
    const script = `const fs = require("node:fs"); fs.openSync(${JSON.stringify(root)}, "r")`;
    await startScript(script, join(at, "under"));
    mountHere();
    assert.deepEqual(holders(), []);
    assert.deepEqual(holdersOf(join(root, "nothing")), []);
  });
});
