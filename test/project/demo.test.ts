import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS } from "../run/stage.ts";
import { IS_LONG } from "../support/long-form.ts";

const USER = 65534;
const demo = join(import.meta.dirname, "../../scripts/demo.ts");

describe("the demo", () => {
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
