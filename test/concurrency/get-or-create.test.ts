import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { openDrydock, type SandboxRecord } from "drydock-sandbox";
import { removeFolder } from "../support/remove-folder.ts";

const library = join(import.meta.dirname, "..", "..", "src", "index.ts");

/** Asks for a sandbox in a process of its own. */
async function ask(stateDir: string, plan: string): Promise<SandboxRecord> {
  const program = `
    const { openDrydock } = await import(${JSON.stringify(library)});
    const drydock = await openDrydock({ stateDir: ${JSON.stringify(stateDir)} });
    const plan = await drydock.plans.open(${JSON.stringify(plan)});
    console.log(JSON.stringify(await plan.sandbox()));
    await drydock.close();`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  return JSON.parse(stdout) as SandboxRecord;
}

describe("A sandbox that is asked for", () => {
  it("[L3] by four processes at once is made once, and all get the same", async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "drydock-ask-")));
    try {
      mkdirSync(join(folder, "app"));
      for (let at = 0; at < 200; at += 1) writeFileSync(join(folder, "app", `${at}`), `${at}\n`);
      const stateDir = join(folder, "state");
      const drydock = await openDrydock({ stateDir });
      const plan = await drydock.plans.create({ resources: [{ location: join(folder, "app") }] });
      // Gone, so that whoever asks first has to make it anew.
      assert.deepEqual((await plan.sandboxes.remove()).failed, []);
      await drydock.close();
      const records = await Promise.all([1, 2, 3, 4].map(() => ask(stateDir, plan.id)));
      assert.equal(new Set(records.map((record) => JSON.stringify(record))).size, 1, JSON.stringify(records));
      assert.equal(readdirSync(join(stateDir, "sandboxes")).length, 1);
    } finally {
      removeFolder(folder);
    }
  });
});
