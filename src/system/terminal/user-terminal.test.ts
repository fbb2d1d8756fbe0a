import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

const PROGRAM = `
import { calls } from ${JSON.stringify(join(import.meta.dirname, "../calls/native.ts"))};
import { UserTerminal } from ${JSON.stringify(join(import.meta.dirname, "user-terminal.ts"))};
const FIONREAD = 0x541b;
const terminal = UserTerminal.open([0]);
const unread = () => {
  const count = Buffer.alloc(4);
  calls.ioctlBuffer(terminal.fd, FIONREAD, count);
  return count.readInt32LE(0);
};
terminal.makeRaw();
while (unread() < 5) await new Promise((resolve) => setTimeout(resolve, 5));
terminal.restore(process.argv[2]);
terminal.makeRaw();
console.log("unread: " + unread());
terminal.restore();
`;

describe("the user's terminal", () => {
  for (const [how, becomes, count] of [
    ["stays", "stays", 5],
    ["dropped", "is dropped", 0],
  ] as const)
    it(`gets its settings back, and what was typed and not read ${becomes}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "drydock-terminal-"));
      const program = join(folder, "program.mjs");
      const script = `"${process.execPath}" "${program}" ${how}`;
      const child = spawn("timeout", ["60", "script", "-qec", script, "/dev/null"]);
      try {
        writeFileSync(program, PROGRAM);
        child.stdin.write("typed");
        assert.match(await text(child.stdout), new RegExp(`unread: ${count}\\s`));
      } finally {
        child.kill();
        rmSync(folder, { recursive: true, force: true });
      }
    });
});
