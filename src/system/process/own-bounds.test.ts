import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";

/** Runs a script with the functions of the file, in a process of its own. */
function run(script: string) {
  const source = `import { alarm, boundMemory } from ${JSON.stringify(import.meta.resolve("./own-bounds.ts"))};
    boundMemory(2 ** 30);
    ${script}`;
  return spawnSync(process.execPath, ["--input-type=module", "--eval", source], { encoding: "utf8" });
}

describe("A process that bounds itself", () => {
  it("gets no more memory than it said, outside of its heap too", () => {
    const { stdout, stderr } = run(`console.log("up");
      const kept = [];
      for (let at = 0; at < 8; at += 1) kept.push(Buffer.alloc(2 ** 28, 1));
      console.log("had it");`);
    assert.equal(stdout, "up\n", stderr);
  });

  it("ends when its time is over, also if it never comes back", () => {
    const { signal } = run("alarm(3600); alarm(0); alarm(1); for (;;);");
    assert.equal(signal, "SIGALRM");
  });
});
