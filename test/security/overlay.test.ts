import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDrydock } from "drydock";
import { removeFolder } from "../support/remove-folder.ts";

const NEEDS_ROOT = process.geteuid?.() === 0 ? false : "only root may mount an overlay";

describe("An original on an overlay", () => {
  it("[L8] is refused with the reason, and nothing is made", { skip: NEEDS_ROOT }, async () => {
    // On a tmpfs: an overlay's upper layer may not itself be on an overlay.
    const folder = realpathSync(mkdtempSync("/dev/shm/drydock-overlay-"));
    const [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map((name) =>
      join(folder, name),
    ) as [string, string, string, string];
    for (const path of [lower, upper, work, merged]) mkdirSync(path);
    writeFileSync(join(lower, "f"), "content");
    execFileSync("mount", [
      "-t",
      "overlay",
      "overlay",
      "-o",
      `lowerdir=${lower},upperdir=${upper},workdir=${work}`,
      merged,
    ]);
    const drydock = await openDrydock({ stateDir: join(folder, "state") });
    try {
      await assert.rejects(
        drydock.plans.create({ resources: [{ location: merged }] }),
        /is on an overlay file system/,
      );
      assert.deepEqual(await drydock.plans.list({ all: true }), []);
      assert.deepEqual(readdirSync(merged), ["f"]);
    } finally {
      await drydock.close();
      execFileSync("umount", [merged]);
      removeFolder(folder);
    }
  });
});
