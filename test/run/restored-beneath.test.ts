import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { failpointsOf, Obedient } from "./running-command.ts";
import { ACTORS, type Actor, ANY_ACTOR, inTurn, Stage } from "./stage.ts";

/** Every entry with its mode, its time, its number of names if it is no folder, and its content. */
const LOOK = `find . \\( -type d -printf '%P %y %m %T@\\n' \\) -o -printf '%P %y %m %n %T@ %l\\n' -type f -exec cat {} + | sort`;

const NOTHING = "No changes.\n";
const ORIGINAL = [
  ...["deep/er/one", "deep/er/two", "deep/three", "gone", "moved", "kept", "script", "shown/one"],
  ...["shown/two", "closed/file", "replaced/one", "file"],
];
/** What is saved: every kind of work, on what was in the original and on what was not. */
const SAVED = [
  "rm -rf deep/er; mkdir deep/er; echo new > deep/er/new",
  "rm -f gone; mv moved there; chmod 700 script; ln -sfn kept link; mkfifo pipe",
  "echo 1 > twin; ln twin brother; mkdir -p new/in; echo 1 > new/in/file; chmod 755 closed; echo 1 >> closed/file; chmod 555 closed",
  "rm -rf replaced; echo a file > replaced; rm file; mkdir file; echo 1 > file/inside; rm shown/one",
].join("; ");
/** What is done afterwards, from whatever state: the opposite, and other things. */
const LATER = [
  "rm -rf deep shown; mkdir deep; echo other > deep/other; echo back > gone; rm -f there link pipe; mkdir -p there/is; echo 2 > there/is/one",
  "chmod 600 script; rm -f brother; cp -p twin brother; rm -rf new; mkdir new; echo 2 > new/in; chmod 755 closed; rm -f closed/file; chmod 500 closed",
  "rm -rf replaced; mkdir replaced; echo 2 > replaced/two; rm -rf file; echo again > file; mkfifo pipe; echo 2 > added; rm -f kept; ln -sfn script kept",
].join("; ");

/** Steps of a restore in which it is killed, in a normal run. */
const POINTS = new Set([
  ...["unlock", "remove", "create-folder"].map((name) => `mounted.${name}`),
  ...["metadata.times", "overlay.note-base"],
]);

class Inside {
  readonly stage: Stage;
  readonly plan: string;
  #command: Obedient;

  constructor(stage: Stage, path: string, ...others: readonly string[]) {
    this.stage = stage;
    const resources = [`${path},strategy=overlay`, ...others].flatMap((resource) => ["-r", resource]);
    this.plan = stage.done("plan", "create", ...resources).trim();
    this.#command = new Obedient(stage, this.plan);
  }

  static open(actor: Actor): Inside {
    const stage = new Stage(actor);
    for (const path of ORIGINAL) stage.write(`project/${path}`, `${path}\n`);
    stage.give();
    return new Inside(stage, stage.project);
  }

  async tell(line: string): Promise<string> {
    return await this.#command.tell(line);
  }

  async end(): Promise<void> {
    await this.#command.end();
  }

  begin(): void {
    this.#command = new Obedient(this.stage, this.plan);
  }

  /** What programs see, and what differs from the original. */
  async state(): Promise<{ readonly seen: string; readonly changes: string }> {
    return { seen: await this.tell(LOOK), changes: this.changes };
  }

  get changes(): string {
    return this.stage.done("plan", "diff", this.plan);
  }

  checkpoint(): string {
    return this.stage.answer("plan", "checkpoint", this.plan).id;
  }

  restore(id: string): void {
    this.stage.done("plan", "restore", this.plan, id);
  }

  refused(...args: readonly string[]): string {
    const { status, stderr } = this.stage.drydock(args);
    assert.ok(status === 1 || status === 3, stderr);
    return stderr;
  }

  original(): string {
    return this.stage.run("sh", ["-c", LOOK]).stdout;
  }

  [Symbol.dispose](): void {
    this.stage[Symbol.dispose]();
  }
}

describe("An overlay is brought back while commands run in it", () => {
  for (const actor of ACTORS)
    it(`[I8] as ${actor}: exactly what was saved is there again, is all that differs, and lands; also twice, and over what landed`, async () => {
      using inside = Inside.open(actor);
      const { stage, plan } = inside;
      await inside.tell(SAVED);
      const first = inside.checkpoint();
      const saved = await inside.state();
      for (let round = 0; round < 2; round += 1) {
        await inside.tell(LATER);
        inside.restore(first);
        assert.deepEqual(await inside.state(), saved);
      }
      inside.restore(first);
      assert.deepEqual(await inside.state(), saved);

      assert.equal(stage.answer("plan", "apply", plan).state, "open");
      assert.equal(inside.original(), saved.seen);
      assert.equal(inside.changes, NOTHING);
      const second = inside.checkpoint();
      await inside.tell(LATER);
      const third = inside.checkpoint();
      const later = await inside.state();
      await inside.tell(SAVED);
      inside.restore(third);
      assert.deepEqual(await inside.state(), later);
      inside.restore(second);
      assert.deepEqual(await inside.state(), { seen: saved.seen, changes: NOTHING });
      await inside.tell("echo last > last; rm -r new");
      const last = await inside.state();
      await inside.end();
      assert.equal(inside.changes, last.changes);
      stage.done("plan", "apply", plan);
      assert.equal(inside.original(), last.seen);
      stage.done("plan", "undo", plan);
      assert.equal(inside.original(), saved.seen);
    });

  for (const actor of ACTORS)
    inTurn(actor)(
      `[I8] as ${actor}: what other writers make meanwhile is no work of the plan, and a change over it is a conflict`,
      async () => {
        using inside = Inside.open(actor);
        const { stage, plan } = inside;
        const at = (path: string) => join(stage.project, path);
        const id = inside.checkpoint();
        await inside.tell("rm -rf shown; rm kept gone; echo 1 > deep/three; echo 1 > added");
        for (const path of ["kept", "deep/three", "shown/one", "shown/theirs"])
          writeFileSync(at(path), "theirs\n");
        for (const path of ["shown/two", "gone"]) rmSync(at(path));
        stage.give();
        inside.restore(id);
        assert.equal(inside.changes, NOTHING);
        assert.equal(
          await inside.tell("cat kept deep/three shown/one shown/theirs; ls shown"),
          `${"theirs\n".repeat(4)}one\ntheirs\n`,
        );
        writeFileSync(at("shown/theirs"), "theirs again\n");
        writeFileSync(at("gone"), "again\n");
        rmSync(at("kept"));
        assert.equal(inside.changes, NOTHING);
        await inside.tell("echo ours > shown/one; echo ours > ours");
        assert.match(inside.refused("plan", "apply", plan), /shown\/one/);
        await inside.tell("rm shown/one; echo theirs > shown/one");
        await inside.end();
        inside.begin();
        assert.equal(await inside.tell("cat shown/theirs; ls kept"), "theirs again\n");
        await inside.end();
        stage.done("plan", "apply", plan, "--only", "ours");
        assert.equal(readFileSync(at("shown/theirs"), "utf8"), "theirs again\n");
      },
    );

  for (const actor of ANY_ACTOR)
    it(`[I8] as ${actor}: what is deleted in a folder that came back is a deletion, also once it is restored itself`, async () => {
      using inside = Inside.open(actor);
      const first = inside.checkpoint();
      await inside.tell("rm -r deep");
      inside.restore(first);
      assert.equal(inside.changes, NOTHING);
      await inside.tell("rm -r deep/er/one shown; mkdir shown");
      const id = inside.checkpoint();
      const saved = await inside.state();
      await inside.tell("echo 1 > deep/er/one; rm -r deep/er shown; mkdir -p deep/er/one shown/one");
      inside.restore(id);
      assert.deepEqual(await inside.state(), saved);
      await inside.end();
      assert.equal(inside.changes, saved.changes);
      inside.stage.done("plan", "apply", inside.plan);
      assert.equal(inside.original(), saved.seen);
    });

  for (const actor of ANY_ACTOR)
    it(`[I8] as ${actor}: what could not come back as it was is refused before anything is touched`, async () => {
      using inside = Inside.open(actor);
      const { stage, plan } = inside;
      stage.run("ln", ["kept", "deep/name"]);
      stage.run("chmod", ["000", "moved"]);
      const id = inside.checkpoint();
      for (const [path, why] of [
        ["deep/name", "is one of several names of a file"],
        ["moved", "can't be read by its owner"],
      ] as const) {
        await inside.tell(`rm -f ${path}; echo 1 > added`);
        const { seen, changes } = await inside.state();
        const refusal = inside.refused("plan", "restore", plan, id);
        assert.ok(refusal.includes(`can't be restored while commands run: ${path} ${why}`), refusal);
        assert.deepEqual(await inside.state(), { seen, changes });
        await inside.end();
        inside.restore(id);
        assert.equal(inside.changes, NOTHING);
        inside.begin();
      }
    });

  for (const actor of ANY_ACTOR)
    it(`[I8] as ${actor}: a program goes on with the file that it reads, and with the one that it writes to if that is as it was saved`, async () => {
      using inside = Inside.open(actor);
      const { stage, plan } = inside;
      await inside.tell("exec 3>>log; echo 1 >&3; exec 4<kept");
      const id = inside.checkpoint();
      await inside.tell("echo other > kept; echo 1 > added");
      inside.restore(id);
      assert.equal(await inside.tell("cat <&4; cat kept"), "other\nkept\n");
      await inside.tell("echo 2 >&3");
      assert.equal(await inside.tell("cat log"), "1\n2\n");
      assert.match(inside.refused("plan", "restore", plan, id), /has log open for writing/);
      assert.equal(await inside.tell("echo 3 >&3; cat log"), "1\n2\n3\n");
      assert.equal(stage.done("plan", "diff", plan, "--name-only"), "project/log\n");
      await inside.tell("exec 3>&-");
      inside.restore(id);
      assert.equal(await inside.tell("cat log"), "1\n");
    });

  for (const actor of ACTORS)
    it(`[I8] [I9] as ${actor}: a restore that is killed at any step is finished or taken back, also after the end of the commands`, async () => {
      using inside = Inside.open(actor);
      const { stage, plan } = inside;
      await inside.tell(SAVED);
      const id = inside.checkpoint();
      const saved = await inside.state();
      const restore = ["plan", "restore", plan, id];
      await inside.tell(LATER);
      const points = failpointsOf(stage, restore).filter((name) => IS_LONG || POINTS.has(name));
      assert.ok(points.length >= POINTS.size - (actor === "root" ? 1 : 0), points.join());
      for (const [index, point] of points.entries()) {
        await inside.tell(LATER);
        const before = await inside.state();
        // There is one folder to unlock.
        const isFirst = index % 2 === 0 || point === "mounted.unlock";
        const env = { DRYDOCK_FAILPOINT: `${point}${isFirst ? "" : ":2"}=kill` };
        const { status, stderr } = stage.drydock(restore, { env });
        assert.equal(status, isFirst ? null : status, `it was not killed at ${point}: ${stderr}`);
        const ends = (IS_LONG ? index : index + 1) % 3 === 2;
        if (ends) await inside.end();
        const recovery = stage.drydock(["recover"]);
        assert.equal(recovery.status, 0, `${point}: ${recovery.stderr}`);
        if (ends) {
          assert.ok([before.changes, saved.changes].includes(inside.changes), point);
          inside.begin();
        }
        const after = await inside.state();
        assert.deepEqual(after, after.changes === saved.changes ? saved : before, point);
      }
      await inside.end();
      inside.restore(id);
      stage.done("plan", "apply", plan);
      assert.equal(inside.original(), saved.seen);
    });
});

describe("A restore of an overlay in which commands run", () => {
  for (const actor of ANY_ACTOR) {
    it(`[I8] [A5] as ${actor}: is taken back where it fails, for all resources of the plan, and goes on through a killed recovery`, async () => {
      using stage = new Stage(actor);
      for (const path of ORIGINAL) stage.write(`project/${path}`, `${path}\n`);
      stage.write("second/held", "held\n");
      stage.give();
      const second = join(stage.path, "second");
      using inside = new Inside(stage, stage.project, `second=${second},strategy=filesystem_copy`);
      const { plan } = inside;
      await inside.tell(SAVED);
      const id = inside.checkpoint();
      const saved = await inside.state();
      await inside.tell(`${LATER}; echo 1 > ${second}/held; exec 3>>${second}/held`);
      const before = await inside.state();
      const restore = ["plan", "restore", plan, id];
      assert.match(inside.refused(...restore), /has held open for writing/);
      assert.deepEqual(await inside.state(), before);
      await inside.tell("exec 3>&-");
      for (const point of ["mounted.create-folder:1=error", "metadata.times:1=enospc"]) {
        const { status } = stage.drydock(restore, { env: { DRYDOCK_FAILPOINT: point } });
        assert.equal(status, 1, point);
        assert.deepEqual(await inside.state(), before, point);
      }
      for (const args of [restore, ["recover"], ["recover"]]) {
        const env = { DRYDOCK_FAILPOINT: "mounted.remove:3=kill" };
        assert.equal(stage.drydock(args, { env }).status, null, args.join(" "));
      }
      assert.equal(stage.drydock(["recover"]).status, 0);
      assert.deepEqual(await inside.state(), saved);
    });

    it(`[I8] as ${actor}: brings back a single file, and nothing beside it`, async () => {
      using stage = new Stage(actor);
      stage.write("project/beside", "beside\n");
      stage.give();
      using inside = new Inside(stage, join(stage.project, "a.txt"));
      await inside.tell("echo 1 > a.txt; chmod 600 a.txt");
      const first = inside.checkpoint();
      const saved = inside.changes;
      for (const work of ["echo 2 > a.txt", "rm a.txt", "rm a.txt; ln -s x a.txt"]) {
        await inside.tell(work);
        inside.restore(first);
        assert.equal(
          await inside.tell("stat -c '%a %F' a.txt; cat a.txt beside"),
          "600 regular file\n1\nbeside\n",
        );
        assert.equal(inside.changes, saved);
      }
    });
  }
});

describe("A checkout at its own path is brought back while commands run in it", () => {
  for (const actor of ACTORS)
    inTurn(actor)(
      `[I8] [I9] as ${actor}: files, commits, branches and the index are as they were saved, also if that is killed, and land`,
      async () => {
        using stage = new Stage(actor);
        const git = (...args: readonly string[]) => {
          const { status, stdout, stderr } = stage.run("git", args);
          assert.equal(status, 0, stderr);
          return stdout;
        };
        git("init", "-q", "-b", "main");
        git("config", "user.name", "A");
        git("config", "user.email", "a@example.com");
        for (const path of ["one", "folder/two"]) stage.write(`project/${path}`, `${path}\n`);
        stage.give();
        git("add", ".");
        git("commit", "-qm", "first");
        git("gc", "-q");
        using inside = new Inside(stage, stage.project);
        const LOG =
          "git status --short --branch; git log --all --oneline --decorate; git stash list; git fsck --no-dangling";
        // A look writes nothing.
        await inside.tell("export GIT_OPTIONAL_LOCKS=0");
        await inside.tell(
          "echo 2 > one; git commit -qam second; echo 3 > one; echo new > new; git add new; git branch other",
        );
        const id = inside.checkpoint();
        const saved = { git: await inside.tell(LOG), ...(await inside.state()) };
        const later =
          "git reset -q --hard main; git checkout -qB third; git rm -qr folder; git commit -qm third; git branch -qD other; git gc -q --prune=now; echo 4 > four; git stash -qu; echo 5 > five";
        const points = ["mounted.remove", "mounted.create-folder", "metadata.times", "overlay.note-base"];
        for (const point of [undefined, ...points]) {
          await inside.tell(later);
          if (point === undefined) inside.restore(id);
          else {
            const env = { DRYDOCK_FAILPOINT: `${point}=kill` };
            assert.equal(stage.drydock(["plan", "restore", inside.plan, id], { env }).status, null, point);
            const recovery = stage.drydock(["recover"]);
            assert.equal(recovery.status, 0, recovery.stderr);
          }
          assert.deepEqual({ git: await inside.tell(LOG), ...(await inside.state()) }, saved, point);
        }
        await inside.tell("git commit -qam fourth");
        const log = await inside.tell("git log --format=%s");
        await inside.end();
        stage.done("plan", "apply", inside.plan);
        assert.equal(git("log", "--format=%s"), log);
        assert.equal(log, "fourth\nsecond\nfirst\n");
        git("fsck", "--no-dangling");
        assert.equal(git("status", "--short"), "");
      },
    );
});
