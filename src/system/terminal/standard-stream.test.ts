import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";

const MODULE = join(import.meta.dirname, "standard-stream.ts");
const PROGRAM = `
import { StandardStream } from ${JSON.stringify(MODULE)};
const [stdout, stderr] = [new StandardStream(1), new StandardStream(2)];
const [, , what, size = "0"] = process.argv;
if (what === "terminal") stderr.write(Buffer.from(String(stdout.isTerminal)));
if (what === "non-blocking") process.stdout._handle.setBlocking(false);
try {
  stdout.write(Buffer.alloc(Number(size), "x"));
} catch (error) {
  stderr.write(Buffer.from(error.code));
}
`;

describe("a standard stream", () => {
  let folder: string;
  let program: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-stream-"));
    program = join(folder, "program.mjs");
    writeFileSync(program, PROGRAM);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const shell = (script: string) => {
    const env = { ...process.env, NODE: process.execPath, PROGRAM: program };
    return spawnSync("bash", ["-c", script], { encoding: "utf8", env });
  };

  it("is a terminal only if it is one", () => {
    assert.equal(shell('"$NODE" "$PROGRAM" terminal | cat').stderr, "false");
    assert.equal(shell('"$NODE" "$PROGRAM" terminal > /dev/null').stderr, "false");
    assert.equal(shell('"$NODE" "$PROGRAM" terminal >&-').stderr, "false");
    const script =
      'script -qec \'"$NODE" "$PROGRAM" terminal 2> "$PROGRAM.said"\' /dev/null; cat "$PROGRAM.said"';
    assert.match(shell(script).stdout, /true$/);
  });

  it("is written to the end, however slowly it is read, and though it does not block", async () => {
    const child = spawn(process.execPath, [program, "non-blocking", "2000000"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let size = 0;
    for await (const part of child.stdout) {
      size += part.length;
      await setTimeout(2);
    }
    assert.equal(size, 2_000_000);
  });

  it("fails if nobody reads it any more, or there is no room for it", () => {
    assert.equal(shell('"$NODE" "$PROGRAM" write 2000000 | head -c 1 > /dev/null').stderr, "EPIPE");
    assert.equal(shell('"$NODE" "$PROGRAM" write 1 > /dev/full').stderr, "ENOSPC");
  });
});
