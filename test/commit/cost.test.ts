import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openDrydock } from "drydock-sandbox";
import { removeFolder } from "../support/remove-folder.ts";

const CALLS = "openat,openat2,statx,getdents64,read,write,pwrite64,copy_file_range,renameat2";
const MIB = 1024 * 1024;

/** The system calls of one real apply of one large changed file in a folder with many others. */
describe("The cost of an apply", () => {
  let folder: string;
  let calls: readonly string[];

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "drydock-cost-")));
    mkdirSync(join(folder, "app", "unchanged"), { recursive: true });
    for (let at = 0; at < 300; at += 1) writeFileSync(join(folder, "app", "unchanged", `${at}`), `${at}\n`);
    writeFileSync(join(folder, "app", "large"), Buffer.alloc(8 * MIB, "old"));
    const drydock = await openDrydock({ stateDir: join(folder, "state") });
    const plan = await drydock.plans.create({
      resources: [{ location: join(folder, "app"), strategy: "filesystem_copy" }],
    });
    writeFileSync(join(await plan.path(), "large"), Buffer.alloc(8 * MIB, "new"));
    await drydock.close();
    const command = join(import.meta.dirname, "..", "..", "bin", "drydock");
    const { status, stderr } = spawnSync(
      "strace",
      [
        "-f",
        "-y",
        "-s",
        "0",
        "-e",
        `trace=${CALLS}`,
        "-o",
        join(folder, "trace"),
        command,
        "plan",
        "apply",
        plan.id,
      ],
      { env: { ...process.env, DRYDOCK_STATE_DIR: join(folder, "state") }, encoding: "utf8" },
    );
    assert.equal(status, 0, stderr);
    calls = readFileSync(join(folder, "trace"), "latin1").split("\n");
    assert.equal(readFileSync(join(folder, "app", "large"), "latin1").slice(0, 3), "new");
  });
  after(() => removeFolder(folder));

  it("[A8] looks at nothing in the original that did not change", () => {
    const looks = calls.filter((call) => call.includes(`${folder}/app/unchanged`));
    assert.deepEqual(looks, []);
  });

  it("[A8] looks at each entry of the sandbox once", () => {
    const exchange = calls.findIndex(
      (call) => call.includes("RENAME_EXCHANGE") && call.includes(`${folder}/app>`),
    );
    const looks = calls
      .slice(0, exchange)
      .filter((call) => /statx\(/.test(call) && call.includes("/tree/unchanged>"));
    assert.equal(looks.length, 300);
  });

  it("[A8] moves no data: what changed goes by rename", () => {
    const copied = calls.filter((call) => /copy_file_range\(/.test(call));
    const written = calls
      .filter((call) => /p?write(?:64)?\(/.test(call))
      .map((call) => Number(/= (\d+)$/.exec(call)?.[1] ?? 0));
    assert.deepEqual(copied, []);
    assert.ok(written.reduce((sum, bytes) => sum + bytes, 0) < MIB);
    assert.ok(
      calls.some((call) => /renameat2\(.*RENAME_EXCHANGE/.test(call) && call.includes(`${folder}/app>`)),
    );
  });
});
