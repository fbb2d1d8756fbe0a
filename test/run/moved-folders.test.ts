import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { ACTORS, type Actor, Stage } from "./stage.ts";

const skip = process.geteuid?.() === 0 ? false : "only root's overlays can rename folders of the original";
const TIME = new Date("2020-01-01T00:00:00Z");

/** A project with a folder of source code, and a plan in which a script of sh has run. */
class MovedStage extends Stage {
  plan = "";

  constructor(actor: Actor = "root") {
    super(actor);
    for (const folder of ["src", "src/deep"]) mkdirSync(this.at(folder));
    for (const file of ["src/a", "src/deep/b"]) this.write(`project/${file}`, `${file}\n`);
    this.give();
    for (const path of ["src/a", "src/deep/b", "src/deep", "src"]) utimesSync(this.at(path), TIME, TIME);
  }

  /** The numbers by which the kernel knows these. */
  numbers(...paths: readonly string[]): readonly number[] {
    return paths.map((path) => statSync(this.at(path)).ino);
  }

  at(path: string): string {
    return join(this.project, path);
  }

  work(script: string, ...resources: readonly string[]): void {
    this.plan = this.done(
      "plan",
      "create",
      "-r",
      `${this.project},strategy=overlay`,
      ...resources.flatMap((resource) => ["-r", resource]),
    ).trim();
    this.done("plan", "exec", this.plan, "--", "sh", "-ec", script);
  }

  changes(): readonly string[] {
    const { changes } = JSON.parse(this.done("plan", "diff", this.plan, "--json"));
    return changes.map(({ operation, path }: { operation: string; path: string }) => `${operation} ${path}`);
  }
}

describe("A folder of the original that root's command renames", { skip }, () => {
  it("[O2] lands under its new name with what is in it and its times, and comes back by an undo", () => {
    using stage = new MovedStage();
    stage.work("mv src lib; echo more >> lib/a; mkdir new; mv lib/deep new/deep");
    const wanted = ["added lib", "added lib/a", "added new", "added new/deep", "added new/deep/b"];
    const gone = ["deleted src", "deleted src/a", "deleted src/deep", "deleted src/deep/b"];
    assert.deepEqual(stage.changes(), [...wanted, ...gone]);
    stage.done("plan", "apply", stage.plan);
    assert.equal(existsSync(stage.at("src")), false);
    assert.equal(readFileSync(stage.at("lib/a"), "utf8"), "src/a\nmore\n");
    assert.equal(readFileSync(stage.at("new/deep/b"), "utf8"), "src/deep/b\n");
    for (const path of ["new/deep", "new/deep/b"])
      assert.equal(statSync(stage.at(path)).mtimeMs, TIME.getTime(), path);
    stage.done("plan", "undo", stage.plan);
    assert.equal(readFileSync(stage.at("src/deep/b"), "utf8"), "src/deep/b\n");
    assert.equal(existsSync(stage.at("lib")), false);
  });

  it("[O2] is renamed by git and by programs that can't copy", () => {
    using stage = new MovedStage();
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
        cwd: stage.project,
        encoding: "utf8",
      });
    git("init", "-q");
    git("add", ".");
    git("commit", "-qm", "begin");
    const rename = "require('fs').renameSync('lib/deep', 'top')";
    stage.work(`git mv src lib; '${process.execPath}' -e "${rename}"`);
    stage.done("plan", "apply", stage.plan, "--allow", "all");
    assert.match(git("status", "--porcelain"), /^R {2}src\/a -> lib\/a$/m);
    assert.equal(readFileSync(stage.at("top/b"), "utf8"), "src/deep/b\n");
  });

  it("[A15] is a conflict by name if another writer changed something below the old name", () => {
    using stage = new MovedStage();
    stage.work("mv src lib");
    stage.write("project/src/deep/b", "of another writer\n");
    const { status, stderr } = stage.drydock(["plan", "apply", stage.plan]);
    assert.equal(status, 3, stderr);
    assert.match(stderr, /conflict: project\/src: changed in the original: deep\/b/);
    assert.equal(existsSync(stage.at("lib")), false);
  });

  it("[C6] is saved by a checkpoint, brought back by a restore, and lands in parts", () => {
    using stage = new MovedStage();
    stage.work("mv src lib");
    const { id } = JSON.parse(stage.done("plan", "checkpoint", stage.plan, "--json"));
    const before = stage.changes();
    stage.done("plan", "exec", stage.plan, "--", "sh", "-ec", "mv lib other; rm other/a; mv other/deep .");
    stage.done("plan", "restore", stage.plan, id);
    assert.deepEqual(stage.changes(), before);
    stage.done("plan", "apply", stage.plan, "--only", "lib");
    assert.equal(readFileSync(stage.at("lib/deep/b"), "utf8"), "src/deep/b\n");
    assert.equal(existsSync(stage.at("src/a")), true);
    stage.done("plan", "apply", stage.plan);
    assert.equal(existsSync(stage.at("src")), false);
  });

  it("[O2] and moves back again is no change", () => {
    using stage = new MovedStage();
    stage.work("mv src lib; mv lib src");
    assert.deepEqual(stage.changes(), []);
  });

  it("[O2] is refused by name with a resource of its own in it", () => {
    using stage = new MovedStage();
    new DatabaseSync(stage.at("src/own.db")).exec("CREATE TABLE own (a)");
    stage.work("mv src lib", stage.at("src/own.db"));
    const { status, stderr } = stage.drydock(["plan", "apply", stage.plan]);
    assert.notEqual(status, 0);
    assert.match(stderr, /src would be removed or replaced, but src\/own\.db is in it/);
    assert.equal(existsSync(stage.at("src/own.db")), true);
  });
});

for (const actor of ACTORS)
  describe(`A renamed folder that lands, for ${actor}`, () => {
    it("[O2] is the same folder with the same files, for what has them open or linked, there and back", () => {
      using stage = new MovedStage(actor);
      for (const name of ["edit", "gone", "in"]) stage.write(`project/src/${name}`, `${name}\n`);
      linkSync(stage.at("src/in"), stage.at("src/deep/in"));
      linkSync(stage.at("src/a"), stage.at("out"));
      stage.give();
      const before = stage.numbers("src", "src/a", "src/in", "src/deep", "src/deep/b");
      const open = openSync(stage.at("src/deep/b"), "a");
      try {
        stage.work(
          "mv src lib; echo more >> lib/edit; rm lib/gone; echo new > lib/deep/new; chmod 700 lib/deep",
        );
        stage.done("plan", "apply", stage.plan);
        writeSync(open, "later\n");
      } finally {
        closeSync(open);
      }
      assert.equal(existsSync(stage.at("src")), false);
      assert.deepEqual(stage.numbers("lib", "lib/a", "lib/in", "lib/deep", "lib/deep/b"), before);
      assert.deepEqual(stage.numbers("lib/a", "lib/in"), stage.numbers("out", "lib/deep/in"));
      assert.equal(readFileSync(stage.at("lib/deep/b"), "utf8"), "src/deep/b\nlater\n");
      assert.equal(readFileSync(stage.at("lib/edit"), "utf8"), "edit\nmore\n");
      assert.deepEqual(readdirSync(stage.at("lib")).sort(), ["a", "deep", "edit", "in"]);
      assert.equal(statSync(stage.at("lib/deep")).mode & 0o777, 0o700);
      stage.done("plan", "undo", stage.plan);
      assert.deepEqual(stage.numbers("src", "src/a", "src/in", "src/deep", "src/deep/b"), before);
      assert.equal(readFileSync(stage.at("src/edit"), "utf8"), "edit\n");
      assert.deepEqual(readdirSync(stage.at("src/deep")).sort(), ["b", "in"]);
      assert.deepEqual(readdirSync(stage.project).sort(), ["a.txt", "out", "src"]);
    });
  });

describe("Another writer while a folder gets its other name", { skip }, () => {
  const atRename = { DRYDOCK_FAILPOINT: "land.rename:1=stop" };

  it("[A15] keeps what it wrote inside, under the new name", async () => {
    using stage = new MovedStage();
    stage.work("mv src lib; echo more >> lib/a");
    const apply = stage.start(["plan", "apply", stage.plan], atRename);
    await apply.stopped();
    stage.write("project/src/deep/b", "of another writer\n");
    stage.write("project/src/new", "new\n");
    apply.signal("SIGCONT");
    assert.equal((await apply.ended()).status, 0);
    assert.equal(readFileSync(stage.at("lib/deep/b"), "utf8"), "of another writer\n");
    assert.equal(readFileSync(stage.at("lib/new"), "utf8"), "new\n");
    assert.equal(readFileSync(stage.at("lib/a"), "utf8"), "src/a\nmore\n");
  });

  it("[A15] keeps what it made at the new name aside, and has it back by the undo", async () => {
    using stage = new MovedStage();
    stage.work("mv src lib; echo more >> lib/a");
    const apply = stage.start(["plan", "apply", stage.plan], atRename);
    await apply.stopped();
    stage.write("project/lib", "of another writer\n");
    apply.signal("SIGCONT");
    const { stdout, stderr } = await apply.ended();
    const kept = /kept at (\S+)|(\S+\/slots\/\S+)/.exec(stdout + stderr);
    assert.equal(
      readFileSync((kept?.[1] ?? kept?.[2] ?? "").replace(/[.,]$/, ""), "utf8"),
      "of another writer\n",
    );
    assert.equal(readFileSync(stage.at("lib/a"), "utf8"), "src/a\nmore\n");
    stage.done("plan", "undo", stage.plan);
    assert.equal(readFileSync(stage.at("src/a"), "utf8"), "src/a\n");
    assert.equal(readFileSync(stage.at("lib"), "utf8"), "of another writer\n");
  });

  it("[A15] has moved it away itself: that is told, and what was to change inside is kept", async () => {
    using stage = new MovedStage();
    stage.work("mv src lib; echo more >> lib/a");
    const apply = stage.start(["plan", "apply", stage.plan], atRename);
    await apply.stopped();
    renameSync(stage.at("src"), stage.at("elsewhere"));
    apply.signal("SIGCONT");
    const { stdout, stderr } = await apply.ended();
    assert.match(stdout + stderr, /src: another process moved or removed it/);
    assert.match(stdout + stderr, /lib\/a: its folder is gone from the original/);
    assert.equal(readFileSync(stage.at("elsewhere/a"), "utf8"), "src/a\n");
  });
});
