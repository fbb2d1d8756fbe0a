import assert from "node:assert/strict";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { InterruptedError } from "../../core/errors/errors.ts";
import { type ProcessBounds, runProcess } from "./run-process.ts";

describe("runProcess", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-bounded-"));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const shell = (script: string, more: Partial<ProcessBounds> = {}) =>
    runProcess(
      { file: "/bin/sh", args: ["-c", script], cwd: folder, environment: { A: "1" } },
      { limitMs: 20_000, ...more },
    );

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

  it("ends a program that writes more than we can keep", async () => {
    const script = "echo $$ > endless; exec cat /dev/zero";
    await assert.rejects(shell(script, { mostOutput: 1 << 20 }), /wrote more than 1048576 bytes/);
    assert.equal(await isGone("endless"), true);
  });

  it("passes descriptors on from 3, and no other one", async () => {
    const file = join(folder, "given");
    writeFileSync(file, "given");
    const fd = openSync(file, "r");
    try {
      const { stdout } = await shell("cat <&3; ls /proc/self/fd", { descriptors: [fd] });
      // The last one is the folder that ls itself reads.
      assert.equal(stdout.toString(), "given0\n1\n2\n3\n4\n");
    } finally {
      closeSync(fd);
    }
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
      runProcess({ file: join(folder, "none"), args: [] }, { limitMs: 1000 }).then(({ code, stderr }) => {
        if (code !== 0) throw new Error(stderr);
      }),
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
