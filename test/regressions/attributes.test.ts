import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type Drydock, openDrydock, type Plan } from "drydock-sandbox";
import { removeFolder } from "../support/remove-folder.ts";

const NET_RAW = "0x0100000200200000000000000000000000000000";
const NEEDS_ROOT = process.geteuid?.() === 0 ? false : "only root may give a file a capability";

describe("Extended attributes in a diff", () => {
  let folder: string;
  let drydock: Drydock;
  let plan: Plan;
  let sandbox: string;

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "drydock-attributes-")));
    mkdirSync(join(folder, "app"));
    drydock = await openDrydock({ stateDir: join(folder, "state") });
    plan = await drydock.plans.create({
      resources: [{ location: join(folder, "app"), strategy: "filesystem_copy" }],
    });
    sandbox = await plan.path();
  });
  afterEach(async () => {
    await drydock.close();
    removeFolder(folder);
  });

  // The digest was over names, modes, times and contents, so other attributes could land than were reviewed.
  it("are part of the digest, with their values", async () => {
    writeFileSync(join(sandbox, "f"), "content");
    const digests = new Set<string>();
    for (const value of ["reviewed", "another"]) {
      execFileSync("setfattr", ["-n", "user.kind", "-v", value, join(sandbox, "f")]);
      digests.add((await plan.diff()).digest);
    }
    assert.equal(digests.size, 2);
  });

  // The capability was taken off when the file landed, but nobody had been told.
  it("[A12] warn that the capability of a new file does not land", { skip: NEEDS_ROOT }, async () => {
    writeFileSync(join(sandbox, "ping"), "content", { mode: 0o755 });
    execFileSync("setfattr", ["-n", "security.capability", "-v", NET_RAW, join(sandbox, "ping")]);
    const { changes } = await plan.diff();
    assert.deepEqual(changes[0]?.warnings, ["lands without its file capability (sandbox.allow_setid)"]);
  });
});
