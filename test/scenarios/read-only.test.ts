import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, Stage } from "../run/stage.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

/**
 * What an overlay copied up carries a mark, and so does what is moved after that. Without privilege a mark on
 * what is read-only, though it is one's own, can't be taken off as it is.
 */
const MOVES =
  "mv file moved; mv folder moved-folder; chmod 444 plain; rm -r emptied; mkdir emptied; chmod 555 emptied";
const MODES = {
  moved: 0o444,
  "moved-folder": 0o555,
  "moved-folder/inner": 0o444,
  plain: 0o444,
  emptied: 0o555,
};

/**
 * Right before the mark of the folder goes, and before that of the file: without privilege each is opened up
 * before and closed after.
 */
const PASSES = { root: [1, 2], user: [2, 5] } as const;

for (const actor of ACTORS)
  describe(`Read-only files and folders, worked on by ${actor}`, () => {
    it("[A3][A11] land with their modes, also after a crash while their marks are taken off", async () => {
      using stage = prepared(actor);
      const before = snapshotTree(stage.project);
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      assert.equal(
        stage.drydock([
          "plan",
          "exec",
          id,
          "--",
          "sh",
          "-c",
          `chmod 755 folder; ${MOVES}; chmod 555 moved-folder`,
        ]).status,
        0,
      );
      for (const pass of PASSES[actor]) {
        const env = { DRYDOCK_FAILPOINT: `stage.free-of-marks:${pass}=kill` };
        const { signal } = await stage.start(["plan", "apply", id], env).ended();
        assert.equal(signal, "SIGKILL", `pass ${pass}`);
        stage.drydock(["recover"]);
        assertSameTree(snapshotTree(stage.project), before, "something landed");
      }
      const { status, stderr } = stage.drydock(["plan", "apply", id]);
      assert.equal(status, 0, stderr);
      for (const [path, mode] of Object.entries(MODES))
        assert.equal(statSync(join(stage.project, path)).mode & 0o7777, mode, path);
      stage.done("plan", "undo", id);
      assertSameTree(snapshotTree(stage.project), before, "taken back");
    });
  });

function prepared(actor: (typeof ACTORS)[number]): Stage {
  const stage = new Stage(actor);
  for (const path of ["file", "folder/inner", "plain", "emptied/inner"])
    stage.write(`project/${path}`, `${path}\n`);
  stage.give();
  assert.equal(stage.run("sh", ["-c", "chmod 444 file folder/inner && chmod 555 folder"]).status, 0);
  return stage;
}
