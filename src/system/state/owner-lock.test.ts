import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Owner } from "../../core/owner.ts";
import { failedWith } from "../calls/errno.ts";
import { armFailpoints, failpoint } from "../failpoints.ts";
import { currentOwner, isProcessAlive } from "../process/process-identity.ts";
import { OwnerLock } from "./owner-lock.ts";

const POINT = failpoint("test.owner");
const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";
const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);

/**
 * Holds a lock, writes its owner, and runs until it is killed. With "spawn" it also leaves a child behind.
 */
const HOLDER = `
  import { spawn } from "node:child_process";
  import { armFailpoints } from ${url("../failpoints.ts")};
  import { OwnerLock } from ${url("./owner-lock.ts")};
  import { currentOwner } from ${url("../process/process-identity.ts")};
  const [stateDir, what] = process.argv.slice(1);
  const owner = currentOwner("holder");
  armFailpoints(process.env["HOLDER_FAILPOINT"]);
  new OwnerLock(stateDir).hold("test.owner", owner);
  const left = what === "spawn" ? spawn("sleep", ["60"], { stdio: "ignore", detached: true }).pid : undefined;
  process.stdout.write(JSON.stringify({ owner, left }));
  setInterval(() => {}, 1000);
`;

let stateDir: string;
let locks: OwnerLock;
let children: ChildProcess[];
let strays: number[];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "drydock-owner-"));
  locks = new OwnerLock(stateDir);
  children = [];
  strays = [];
});

afterEach(() => {
  armFailpoints(undefined);
  for (const child of children) child.kill("SIGKILL");
  for (const pid of strays) process.kill(pid, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

async function startHolder(
  what: string,
  wrapper: readonly string[] = [],
): Promise<{ readonly child: ChildProcess; readonly owner: Owner }> {
  const words = [...wrapper, process.execPath, "--input-type=module", "-e", HOLDER, stateDir, what];
  const child = spawn(words[0]!, words.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [text] = await once(child.stdout!, "data");
  const { owner, left } = JSON.parse(String(text)) as { owner: Owner; left?: number };
  if (left !== undefined) strays.push(left);
  return { child, owner };
}

const folder = () => join(stateDir, "owners");
const fileOf = ({ id }: Owner) => join(folder(), `${id}.lock`);

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

describe("an owner's lock", () => {
  it("says of an owner in this process that it is alive, until it gives the lock up", () => {
    const owner = currentOwner("test");
    assert.equal(locks.isAlive(owner), false);
    const held = locks.hold(POINT, owner);
    assert.equal(locks.isAlive(owner), true);
    assert.equal(new OwnerLock(stateDir).isAlive(owner), true);
    held.release();
    assert.equal(locks.isAlive(owner), false);
    assert.deepEqual(readdirSync(join(stateDir, "owners")), []);
  });

  it("[C5] says of an owner in another process that it is alive, and that it is dead once that was killed", async () => {
    const { child, owner } = await startHolder("");
    assert.equal(locks.isAlive(owner), true);
    await kill(child);
    assert.equal(locks.isAlive(owner), false);
    assert.equal(locks.isAlive(owner), false, "asking does not make it alive");
  });

  it("[C5] is not inherited by what the owner starts: a child that outlives it keeps nobody alive", async () => {
    const { child, owner } = await startHolder("spawn");
    assert.equal(locks.isAlive(owner), true);
    await kill(child);
    assert.equal(process.kill(strays[0]!, 0), true);
    assert.equal(locks.isAlive(owner), false);
  });

  it("[C5] tells the truth across pid namespaces, where a pid does not", { skip: NEEDS_ROOT }, async () => {
    const { child, owner } = await startHolder("", [
      "unshare",
      "--pid",
      "--fork",
      "--mount-proc",
      "--kill-child",
    ]);
    assert.ok(owner.pid < 10, "the owner knows itself by a pid of its own namespace");
    assert.equal(isProcessAlive(owner), false);
    assert.equal(locks.isAlive(owner), true);
    await kill(child);
    while (locks.isAlive(owner)) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it("keeps its files to this user, by names that nobody can guess", () => {
    locks.hold(POINT, currentOwner("test"));
    const [name] = readdirSync(join(stateDir, "owners"));
    assert.match(name!, /^[0-9a-f]{24}\.lock$/);
    assert.equal(statSync(join(stateDir, "owners")).mode & 0o777, 0o700);
    assert.equal(statSync(join(stateDir, "owners", name!)).mode & 0o777, 0o600);
  });

  it("can become that of the next owner, and the first one counts as dead at once", () => {
    const [first, next] = [currentOwner("first"), currentOwner("next")];
    const held = locks.hold(POINT, first);
    held.reuse(next);
    assert.deepEqual([locks.isAlive(first), locks.isAlive(next)], [false, true]);
    assert.deepEqual(readdirSync(folder()), [`${next.id}.lock`]);
    held.release();
    assert.equal(locks.isAlive(next), false);
    assert.deepEqual(readdirSync(folder()), []);
  });

  it("is taken by one only", () => {
    const owner = currentOwner("test");
    locks.hold(POINT, owner);
    assert.throws(
      () => locks.hold(POINT, owner),
      (thrown) => failedWith(thrown, "EEXIST"),
    );
  });

  it("removes, when the next one is taken, what is left of the dead, and nothing of the living", async () => {
    const [dead, living] = [await startHolder(""), await startHolder("")];
    await kill(dead.child);
    assert.deepEqual(locks.dead(), [fileOf(dead.owner)]);
    const owner = currentOwner("test");
    locks.hold(POINT, owner);
    assert.deepEqual(
      readdirSync(folder()).sort(),
      [living.owner, owner].map(({ id }) => `${id}.lock`).sort(),
    );
    assert.equal(locks.isAlive(living.owner), true);
    assert.deepEqual(locks.dead(), []);
  });

  it("[A21] is made anew where another process took the file for that of a dead one before it was locked", async () => {
    const words = ["--input-type=module", "-e", HOLDER, stateDir, ""];
    const slow = spawn(process.execPath, words, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, HOLDER_FAILPOINT: "owner.lock:1=stop" },
    });
    children.push(slow);
    while (!/^State:\s+T/m.test(readFileSync(`/proc/${slow.pid}/status`, "utf8")))
      await new Promise((resolve) => setTimeout(resolve, 5));
    const [taken] = readdirSync(folder());
    locks.hold(POINT, currentOwner("test"));
    assert.equal(readdirSync(folder()).includes(taken!), false);
    slow.kill("SIGCONT");
    const [text] = await once(slow.stdout!, "data");
    assert.equal(locks.isAlive((JSON.parse(String(text)) as { owner: Owner }).owner), true);
  });

  it("passes its failpoint before anything happens", () => {
    armFailpoints("test.owner=error");
    assert.throws(() => locks.hold(POINT, currentOwner("test")));
    assert.deepEqual(readdirSync(stateDir), []);
  });
});
