import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { InterruptedError } from "../core/errors.ts";
import { type BoundedProgram, runBounded } from "./bounded-process.ts";

describe("runBounded", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-bounded-"));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const shell = (script: string, more: Partial<BoundedProgram> = {}) =>
    runBounded({
      file: "/bin/sh",
      args: ["-c", script],
      cwd: folder,
      environment: { A: "1" },
      limitMs: 20_000,
      ...more,
    });

  /** Whether a process that wrote its id there is gone. */
  async function isGone(name: string): Promise<boolean> {
    const pid = readFileSync(join(folder, name), "utf8").trim();
    for (let tries = 0; tries < 100 && isAlive(pid); tries += 1) await sleep(20);
    return !isAlive(pid);
  }

  it("returns what a program says and how it ends, with nothing of our environment", async () => {
    const input = Buffer.from("in\0put");
    const ended = await shell("cat; echo $A $HOME; echo problem >&2; exit 3", { input });
    assert.deepEqual(ended, {
      code: 3,
      stdout: Buffer.from("in\0put1\n"),
      stderr: "problem\n",
      tookTooLong: false,
    });
  });

  it("takes a program that does not read its input", async () => {
    assert.equal((await shell("exit 0", { input: Buffer.alloc(1 << 20) })).code, 0);
  });

  it("hands over output piece by piece", async () => {
    let length = 0;
    const { stdout } = await shell("head -c 300000 /dev/zero", {
      onOutput: (bytes) => {
        length += bytes.length;
      },
    });
    assert.deepEqual([length, stdout.length], [300_000, 0]);
  });

  it("[G3] ends what is silent for too long, with all that it started", async () => {
    const script = "echo $$ > first; sh -c 'echo $$ > second; exec sleep 1000'; true";
    const { code, tookTooLong } = await shell(script, { limitMs: 300 });
    assert.deepEqual([code, tookTooLong], [undefined, true]);
    assert.equal(await isGone("first"), true);
    assert.equal(await isGone("second"), true);
  });

  it("[G3] ends what does not want to end", async () => {
    const { tookTooLong } = await shell("trap '' TERM; echo $$ > stubborn; while :; do sleep 1000; done", {
      limitMs: 200,
    });
    assert.equal(tookTooLong, true);
    assert.equal(await isGone("stubborn"), true);
  });

  it("does not end what tells how far it is", async () => {
    const script = "for n in 1 2 3 4 5 6; do echo $n >&2; sleep 0.2; done";
    assert.equal((await shell(script, { limitMs: 800 })).tookTooLong, false);
  });

  it("ends a program that is no longer wanted", async () => {
    const abort = new AbortController();
    const running = shell("echo $$ > unwanted; exec sleep 1000", { signal: abort.signal });
    while (!existsSync(join(folder, "unwanted"))) await sleep(10);
    abort.abort();
    await assert.rejects(running, InterruptedError);
    assert.equal(await isGone("unwanted"), true);
    await assert.rejects(shell("true", { signal: abort.signal }), InterruptedError);
  });

  it("says that a program is not there", async () => {
    await assert.rejects(
      runBounded({ file: join(folder, "none"), args: [], cwd: folder, environment: {}, limitMs: 1000 }).then(
        ({ code, stderr }) => {
          if (code !== 0) throw new Error(stderr);
        },
      ),
      /none/,
    );
  });
});

function isAlive(pid: string): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    // It is gone.
    return false;
  }
}
