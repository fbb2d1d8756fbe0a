import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, Stage } from "./stage.ts";

const SCRIPT =
  "echo 2 > a.txt; echo new > ~/notes/f; rm ~/notes/g; mkdir -p ~/.npm; echo 1 > ~/.npm/x; : > /tmp/drydock-y";

function stageWithNotes(actor: (typeof ACTORS)[number]): Stage {
  const stage = new Stage(actor);
  stage.write("home/notes/f", "old\n");
  stage.write("home/notes/g", "gone\n");
  stage.give();
  return stage;
}

for (const actor of ACTORS) {
  describe(`what a command writes outside of its plan, as ${actor}`, () => {
    it("is named by where it is, and keeps a run from being applied, because it would be gone", () => {
      using stage = stageWithNotes(actor);
      const { status, stderr } = stage.drydock(["run", "--apply", "--", "sh", "-c", SCRIPT]);
      assert.equal(status, 1, stderr);
      assert.match(
        stderr,
        /also wrote 3 files and removed 1 entry outside the plan; not landed: ~\/notes 2, .*~\/.npm 1/,
      );
      assert.match(stderr, /Not applied, because the command wrote outside of the plan too; kept as plan/);
      assert.match(stderr, /drydock plan scratch diff .*\n.*drydock plan add \w+ ~\/notes\n/);
      assert.equal(stage.read("project/a.txt"), "one\n");
    });

    it("is listed with its sizes and compared with the machine's files", () => {
      using stage = stageWithNotes(actor);
      stage.drydock(["run", "--keep", "--", "sh", "-c", SCRIPT]);
      const { planId, files, places } = stage.answer("plan", "scratch", "list");
      const home = (path: string) => join(stage.home, path);
      assert.deepEqual(
        files.filter(({ path }: { path: string }) => path.startsWith(stage.home)),
        [
          { path: home(".npm/x"), kind: "file", bytes: 2, cache: true },
          { path: home("notes/f"), kind: "file", bytes: 4 },
          { path: home("notes/g"), kind: "removed", bytes: 0 },
        ],
      );
      assert.deepEqual(places[0], { path: home("notes"), files: 1, removed: 1, bytes: 4 });
      assert.match(
        stage.done("plan", "scratch", "list"),
        /^~\/notes\/f +4 bytes\n~\/notes\/g +removed\n(?:.*of a cache or temporary folder\n){2}$/,
      );
      assert.match(stage.done("plan", "scratch", "list", "--all"), /~\/\.npm\/x +2 bytes/);
      const patch = stage.done("plan", "scratch", "diff");
      assert.match(patch, /notes\/f\n@@.*@@\n-old\n\+new\n/);
      assert.match(patch, /notes\/g\n\+\+\+ \/dev\/null\n@@.*@@\n-gone\n/);
      assert.doesNotMatch(patch, /npm/);
      assert.match(stage.done("plan", "scratch", "diff", planId, home(".npm")), /\+1\n/);
      assert.deepEqual(readdirSync(stage.home), ["notes"]);
    });

    it("does not keep a run from being applied if it is a cache, or to be ignored", () => {
      using stage = stageWithNotes(actor);
      const cache = "echo 2 > a.txt; mkdir -p ~/.npm; echo 1 > ~/.npm/x";
      assert.equal(stage.drydock(["run", "--apply", "--", "sh", "-c", cache]).status, 0);
      assert.equal(stage.read("project/a.txt"), "2\n");
      const ignored = stage.drydock([
        "run",
        "--apply",
        "--ignore-outside",
        "--",
        "sh",
        "-c",
        "echo 3 > a.txt; : > ~/n",
      ]);
      assert.equal(ignored.status, 0, ignored.stderr);
      assert.equal(stage.read("project/a.txt"), "3\n");
      assert.deepEqual(stage.answer("plan", "list").plans, []);
    });

    it("keeps the plan of a command that changed nothing else", () => {
      using stage = stageWithNotes(actor);
      const { planId, outcome } = JSON.parse(
        stage.drydock(["run", "--json", "--", "sh", "-c", "echo 1 > ~/n"]).stdout,
      );
      assert.equal(outcome, "kept");
      assert.match(stage.done("plan", "scratch", "diff", planId), /\+1\n/);
    });
  });
}
