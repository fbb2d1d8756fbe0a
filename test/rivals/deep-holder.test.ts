import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";

/**
 * Goes down, making folders on the way, until the path is longer than the kernel can name; then waits, and at
 * the end makes a file.
 */
const GO_DEEP = `cd "$1"; n=$(printf '%0200d' 0); for i in $(seq 25); do mkdir -p $n && cd -P ./$n; done
echo ready; read line; echo late > late.txt; echo done`;

describe("A process that works in a folder too deep to be named", () => {
  for (const where of ["elsewhere", "in the sandbox"] as const) {
    it(`[A20] ${where} stops no apply, and nothing that it makes later is in the original`, async () => {
      const base = mkdtempSync(join(tmpdir(), "drydock-deep-"));
      const drydock = await openServices({ stateDir: join(base, "state"), cwd: base, environment: {} });
      try {
        for (const folder of ["original", "elsewhere"]) mkdirSync(join(base, folder));
        writeFileSync(join(base, "original", "file"), "old\n");
        const plan = await drydock.plans.create({
          resources: [{ location: "original", strategy: "filesystem_copy" }],
        });
        const sandbox = await drydock.plans.path(plan.id);
        mkdirSync(join(sandbox, "new"));
        writeFileSync(join(sandbox, "new", "inner"), "planned\n");
        const place = where === "elsewhere" ? join(base, "elsewhere") : join(sandbox, "new");
        const deep = spawn("bash", ["-c", GO_DEEP, "bash", place], { stdio: ["pipe", "pipe", "inherit"] });
        const lines = deep.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false });
        assert.match(String((await lines.next()).value), /ready/);
        assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
        deep.stdin.end("now\n");
        await new Promise((resolve) => deep.once("exit", resolve));
        assert.ok(readdirSync(join(base, "original", "new")).includes("inner"));
        const found = spawnSync("find", [join(base, "original"), "-name", "late.txt"], { encoding: "utf8" });
        assert.equal(found.stdout, "");
      } finally {
        await drydock.close();
        // Too deep for Node's own.
        spawnSync("rm", ["-rf", base]);
      }
    });
  }
});
