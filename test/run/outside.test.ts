import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { type Actor, ANY_ACTOR, Stage } from "./stage.ts";

const SCRIPT =
  "echo 2 > a.txt; echo new > ~/notes/f; rm ~/notes/g; mkdir -p ~/.npm; echo 1 > ~/.npm/x; : > /tmp/drydock-y";

function stageWithNotes(actor: Actor): Stage {
  const stage = new Stage(actor);
  stage.write("home/notes/f", "old\n");
  stage.write("home/notes/g", "gone\n");
  stage.give();
  return stage;
}

for (const actor of ANY_ACTOR) {
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

    it("[W6] becomes work of the plan when its folder is added, and lands and goes back with the rest", () => {
      using stage = stageWithNotes(actor);
      stage.write("home/notes/deep/in", "deep\n");
      stage.give();
      const script = `${SCRIPT}; cd ~/notes; ln -s f l; chmod 700 .; mkdir new; echo z > new/z; rm -r deep; mkdir deep; echo 2 > deep/2`;
      stage.drydock(["run", "--keep", "--name", "p", "--", "sh", "-c", script]);
      const notes = join(stage.home, "notes");
      assert.equal(stage.answer("plan", "add", "p", notes).resources[1].name, "notes");
      assert.deepEqual(
        stage.answer("plan", "scratch", "list").places.filter(({ cache }: { cache?: true }) => !cache),
        [],
      );
      const changed = stage.answer("plan", "diff").changes as { resource: string; path: string }[];
      assert.deepEqual(
        changed.map(({ resource, path }) => `${resource}/${path}`).filter((path) => path.startsWith("notes")),
        [".", "deep/2", "deep/in", "f", "g", "l", "new", "new/z"].map((path) => `notes/${path}`),
      );
      const seen = stage.drydock([
        "plan",
        "exec",
        "--",
        "sh",
        "-c",
        "cat ~/notes/f ~/notes/l ~/notes/deep/*; ls ~/notes",
      ]);
      assert.equal(seen.stdout, "new\nnew\n2\ndeep\nf\nl\nnew\n");
      stage.done("plan", "apply", "p");
      assert.equal(stage.read("home/notes/f"), "new\n");
      assert.deepEqual(readdirSync(notes).toSorted(), ["deep", "f", "l", "new"]);
      assert.equal(statSync(notes).mode & 0o777, 0o700);
      assert.match(stage.done("plan", "log", "p"), /added +resource notes/);
      stage.done("plan", "undo", "p");
      assert.equal(stage.read("home/notes/g"), "gone\n");
      assert.deepEqual(readdirSync(notes).toSorted(), ["deep", "f", "g"]);
    });

    it("[W6] is taken over by a single file, and by --add before the next command", () => {
      using stage = stageWithNotes(actor);
      stage.write("beside/x", "x\n");
      stage.give();
      stage.drydock(["run", "--keep", "--name", "p", "--", "sh", "-c", SCRIPT]);
      stage.done("plan", "add", "p", join(stage.home, "notes/f"));
      const other = join(stage.path, "beside");
      const ran = stage.drydock([
        "plan",
        "exec",
        "p",
        "--add",
        other,
        "--",
        "sh",
        "-c",
        `cat ~/notes/f; echo y > ${other}/x`,
      ]);
      assert.deepEqual([ran.status, ran.stdout], [0, "new\n"], ran.stderr);
      stage.done("plan", "apply", "p");
      assert.equal(stage.read("home/notes/f"), "new\n");
      assert.equal(stage.read("beside/x"), "y\n");
      assert.equal(stage.read("home/notes/g"), "gone\n");
    });
  });
}

describe("a resource that joins a plan", () => {
  it("[W6] follows the rules for resources inside of others, and changes no sandbox that there is", () => {
    using place = new Workplace();
    for (const path of ["app/inner/a", "other/b"]) place.write(path, "1\n");
    place.done("plan", "create", "-r", "app/inner", "--name", "p");
    const refused = (resource: string) => {
      const { status, stderr } = place.drydock(["plan", "add", "p", resource]);
      assert.equal(status, 2);
      return stderr;
    };
    assert.match(refused("app"), /overlaps what is to be added/);
    assert.match(refused("app/inner"), /are both|Two resources are called/);
    assert.match(refused("nothing"), /There is nothing at/);
    place.done("plan", "add", "p", "other");
    place.write("other/deep/c", "1\n");
    const { resources } = place.answer("plan", "add", "p", "deep=other/deep");
    assert.equal(resources[2].sharesSandboxOf, "other");
    place.done("plan", "cancel", "p");
    assert.match(place.drydock(["plan", "add", "p", "other"]).stderr, /is cancelled/);
  });

  it("[W6] comes in with a database, and an old checkpoint knows it as it joined", () => {
    using place = new Workplace();
    place.write("app/a", "1\n");
    const file = join(place.path, "data.db");
    using database = new DatabaseSync(file);
    database.exec("CREATE TABLE t (v)");
    place.done("plan", "create", "-r", "app", "--name", "p");
    place.done("plan", "checkpoint", "p", "--label", "before");
    place.done("plan", "add", "p", file);
    place.done("plan", "sql", "p", "data.db", "-c", "INSERT INTO t VALUES (1)");
    assert.equal(place.answer("plan", "diff", "p").changes.length, 1);
    place.done("plan", "restore", "p", "before");
    assert.deepEqual(place.answer("plan", "diff", "p").changes, []);
    place.done("plan", "sql", "p", "data.db", "-c", "INSERT INTO t VALUES (2)");
    place.done("plan", "apply", "p");
    assert.deepEqual(
      database
        .prepare("SELECT v FROM t")
        .all()
        .map(({ v }) => v),
      [2],
    );
  });
});
