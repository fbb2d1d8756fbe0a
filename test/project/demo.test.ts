import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { whyNoHosts } from "../fleet/host-network.ts";
import { ACTORS } from "../run/stage.ts";
import { IS_LONG, itInLongForm } from "../support/long-form.ts";

const USER = 65534;
const demo = join(import.meta.dirname, "../../scripts/demo.ts");

describe("the demo", () => {
  itInLongForm("of a fleet comes to its end, or says what it lacks", () => {
    const program = join(import.meta.dirname, "../../scripts/demo-fleet.ts");
    const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: "utf8" });
    const lacking = whyNoHosts();
    assert.equal(status, lacking === undefined ? 0 : 2, stdout + stderr);
    assert.match(stdout + stderr, lacking === undefined ? /# Done: all or nothing/ : /can't run here/);
  });

  // For root, who can do more, only in a long run.
  for (const actor of ACTORS.filter((one) => IS_LONG || one === "user")) {
    it(`comes to its end, run by ${actor}`, () => {
      const home = mkdtempSync(join(tmpdir(), "drydock-demo-home-"));
      const isOther = actor === "user" && process.geteuid?.() === 0;
      try {
        if (isOther) chownSync(home, USER, USER);
        const { status, stdout, stderr } = spawnSync(process.execPath, [demo], {
          env: { ...process.env, HOME: home, TMPDIR: home },
          encoding: "utf8",
          ...(isOther && { uid: USER, gid: USER }),
        });
        assert.equal(status, 0, stdout + stderr);
        assert.match(stdout, /# Done: all or nothing/);
      } finally {
        rmSync(home, { recursive: true });
      }
    });
  }
});
