import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { afterEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Owner } from "../../core/owner.ts";
import { currentBootId, currentOwner, isProcessAlive } from "./process-identity.ts";

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function start(command: string, ...args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
}

/** State and start time of a process, as the kernel says. */
function statOf(pid: number): { readonly state: string; readonly startTime: string } {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0]!, startTime: fields[19]! };
}

const ownerOf = (pid: number): Owner => ({ ...currentOwner("test"), pid, startTime: statOf(pid).startTime });

describe("the identity of a process", () => {
  it("is its host, boot, pid and start time, with an id that nobody can guess", () => {
    const owner = currentOwner("drydock plan apply");
    assert.deepEqual([owner.host, owner.pid, owner.command], [hostname(), process.pid, "drydock plan apply"]);
    assert.match(owner.bootId, /^[0-9a-f-]{36}$/);
    assert.equal(owner.startTime, statOf(process.pid).startTime);
    assert.match(owner.id, /^[0-9a-f]{24}$/);
    assert.notEqual(currentOwner("").id, owner.id);
  });

  it("is alive while the process runs, and not after it ended", async () => {
    assert.equal(isProcessAlive(currentOwner("test")), true);
    const child = start("sleep", "60");
    const owner = ownerOf(child.pid!);
    assert.equal(isProcessAlive(owner), true);
    child.kill("SIGKILL");
    await once(child, "close");
    assert.equal(isProcessAlive(owner), false);
  });

  it("is not alive as a zombie, though the pid is still there", { timeout: 30_000 }, async () => {
    // The shell becomes a program that never looks after the child it started, so that stays a zombie.
    const parent = start("sh", "-c", "sleep 0.2 & echo $!; exec sleep 60");
    const [text] = await once(parent.stdout!, "data");
    const pid = Number(String(text));
    const owner = ownerOf(pid);
    assert.equal(isProcessAlive(owner), true);
    while (statOf(pid).state !== "Z") await sleep(10);
    assert.equal(process.kill(pid, 0), true);
    assert.equal(isProcessAlive(owner), false);
  });

  it("is not that of another process that got the same pid", () => {
    const owner = currentOwner("test");
    assert.equal(isProcessAlive({ ...owner, startTime: String(Number(owner.startTime) - 1) }), false);
  });

  it("is not alive after the machine was restarted, whatever has its pid now", () => {
    assert.equal(
      isProcessAlive({ ...currentOwner("test"), bootId: "00000000-0000-0000-0000-000000000000" }),
      false,
    );
    assert.equal(currentBootId(), currentBootId());
  });

  it("counts as alive on another host, which can't be judged from here", () => {
    assert.equal(isProcessAlive({ ...currentOwner("test"), host: "elsewhere", pid: 2 ** 22 + 1 }), true);
  });

  it("is read right whatever the process calls itself", async () => {
    const child = start(
      process.execPath,
      "-e",
      `process.title = ") Z 1 ("; process.stdout.write("named"); setInterval(() => {}, 1000)`,
    );
    await once(child.stdout!, "data");
    assert.equal(isProcessAlive(ownerOf(child.pid!)), true);
  });
});
