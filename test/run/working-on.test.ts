import assert from "node:assert/strict";
import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Running } from "../end-to-end/workplace.ts";
import { IS_LONG } from "../support/long-form.ts";
import { end, failpointsOf, goesOn, Obedient, standsStill } from "./running-command.ts";
import { ACTORS, type Actor, Stage } from "./stage.ts";

/**
 * Makes a file for each number, in a new folder and beside it, and one that it soon removes. Says the number
 * afterwards.
 */
const NAMES = `mkdir new
i=0
while :; do
  i=$((i + 1))
  echo $i > new/n-$i && echo $i > n-$i && echo $i > new/d-$i && rm -f new/d-$((i - 3))
  echo $i
  sleep 0.02
done`;

/**
 * The same with links, which no program has open, and nearly at once: a restore is refused if it would take a
 * file away from a program that writes to it.
 */
const LINKS = `$| = 1; mkdir "new";
for (my $i = 1;; $i++) {
  symlink($i, "new/n-$i") && symlink($i, "n-$i") && symlink($i, "new/d-$i") && unlink("new/d-" . ($i - 3));
  print "$i\\n";
  select(undef, undef, undef, 0.02);
}`;

/** What a command does between one apply and the next, in folders of the original and in new ones. */
const ROUNDS = [
  "mkdir new new/in; echo 1 > new/a; echo 1 > new/in/b; ln new/a new/linked; ln -s a new/link; rm gone; mv moved there; rm -r old; mkdir old; echo 2 > old/two; echo 2 > a.txt",
  "rm new/a; echo 2 > new/in/b; echo 2 > new/in/c; echo again > gone; rm -r old; mv there new/in/there; chmod 600 a.txt; chmod 700 kept; echo 3 > kept/two",
  "mv new newer; rm gone; echo 3 > a.txt; rm kept/one; mkdir old; echo 3 > old/three",
];

/** Who lands with which strategy. An overlay differs by who mounts it; a copy does not. */
const CASES: readonly (readonly [Actor, string])[] = ACTORS.flatMap((actor) =>
  ["overlay", "filesystem_copy", "copy_on_write"]
    .filter((strategy) => IS_LONG || strategy === (actor === "user" ? "filesystem_copy" : "overlay"))
    .map((strategy) => [actor, strategy] as const),
);
/** Who restores with which strategy: there an overlay differs more by who it is. */
const RESTORES: typeof CASES = ACTORS.flatMap((actor) =>
  ["overlay", "filesystem_copy", "copy_on_write"]
    .filter((strategy) => IS_LONG || strategy === (actor === "user" ? "overlay" : "filesystem_copy"))
    .map((strategy) => [actor, strategy] as const),
);

/** Steps of an apply after which commands go on in another situation; the long form takes all of them. */
const APPLY_POINTS = new Set(["land.add", "part.note-base", "part.flush-settled"]);
const HOLDER = join(import.meta.dirname, "../rivals/holder.ts");

interface Work {
  readonly plan: string;
  readonly command: Running;
}

async function working(stage: Stage, strategy: string, program: readonly string[]): Promise<Work> {
  const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=${strategy}`).trim();
  const command = stage.start(["plan", "exec", plan, "--", ...program]);
  await goesOn(command);
  return { plan, command };
}

/** The last number that a command has said. */
function saidBy({ stdout }: Running): number {
  return Number(stdout.trim().split("\n").at(-1));
}

function numbersOf(folder: string, kind: "n-" | "d-"): readonly number[] {
  return readdirSync(folder)
    .flatMap((name) => (name.startsWith(kind) ? [Number(name.slice(2))] : []))
    .toSorted((a, b) => a - b);
}

/** The numbers of the files that NAMES makes, which must be the same in both folders, but for the last. */
function numbersIn(folder: string): readonly number[] {
  const [inside, beside] = [numbersOf(join(folder, "new"), "n-"), numbersOf(folder, "n-")];
  assert.ok(inside.length - beside.length === 0 || inside.length - beside.length === 1);
  assert.deepEqual(inside.slice(0, beside.length), beside);
  // The last one may have been opened and not written yet.
  for (const number of beside.slice(0, -1))
    for (const path of [`n-${number}`, `new/n-${number}`])
      assert.match(contentOf(join(folder, path)), new RegExp(`^(?:${number}\\n|of another writer)$`));
  return beside;
}

function contentOf(path: string): string {
  return lstatSync(path).isSymbolicLink() ? `${readlinkSync(path)}\n` : readFileSync(path, "utf8");
}

/** The number up to which NAMES has made its files, none of which may be missing, and removed the others. */
function landedIn(folder: string): number {
  const landed = numbersIn(folder);
  assert.deepEqual(landed, upTo(landed.length));
  const [oldest = landed.length] = numbersOf(join(folder, "new"), "d-");
  assert.ok(oldest >= landed.length - 3, `${oldest} of ${landed.length} is still there`);
  return landed.length;
}

function upTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

/** Tells a program of HOLDER what to write, and waits until it has. */
async function write(holder: Running, text: string): Promise<void> {
  const before = holder.stdout.length;
  holder.input(`${text}\n`);
  await holder.until(() => holder.stdout.length > before);
  assert.match(holder.stdout, /written\n$/);
}

/** Every entry with its mode and content, as `find` shows it. */
const LOOK = `find . ! -name . -printf '%P %y %m %l\\n' -type f -exec cat {} + | sort`;

describe("A plan is worked on while commands run in it", () => {
  for (const [actor, strategy] of CASES) {
    it(`[I8] as ${actor}, with ${strategy}: after each apply the original is what the command sees, and nothing is left to land`, async () => {
      using stage = new Stage(actor);
      for (const path of ["gone", "moved", "old/one", "old/in/two", "kept/one"])
        stage.write(`project/${path}`, `${path}\n`);
      stage.give();
      const original = () => stage.run("sh", ["-c", LOOK]).stdout;
      const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=${strategy}`).trim();
      stage.drydock(["plan", "write", plan, "project", "made/by/hand"], { input: "1\n" });
      const command = new Obedient(stage, plan);
      const tell = (line: string) => command.tell(line);
      await tell(":");
      const states = [original()];
      // What the command does between a landing and its recovery is work on top of what landed.
      await tell("echo 1 > turned; mkdir turning; echo 1 > turning/file");
      const env = { DRYDOCK_FAILPOINT: "part.note-base=kill" };
      assert.equal(stage.drydock(["plan", "apply", plan], { env }).status, null);
      await tell("rm turned; mkdir turned; rm turning/file; mkdir turning/file");
      assert.equal(stage.drydock(["recover"]).status, 0);
      assert.equal(stage.done("plan", "diff", plan, "--name-only"), "project/turned\nproject/turning/file\n");
      for (const round of ROUNDS) {
        await tell(round);
        assert.equal(stage.answer("plan", "apply", plan).state, "open");
        assert.equal(original(), await tell(LOOK), round);
        assert.equal(stage.done("plan", "diff", plan, "--name-only"), "", round);
        states.push(original());
      }
      await tell("rm made/by/hand; echo 1 > made/by/two");
      assert.equal(
        stage.done("plan", "diff", plan, "--name-only"),
        "project/made/by/hand\nproject/made/by/two\n",
      );
      await command.end();
      assert.equal(
        stage.done("plan", "diff", plan, "--name-only"),
        "project/made/by/hand\nproject/made/by/two\n",
      );
      stage.done("plan", "undo", plan);
      assert.equal(original(), states.at(-2));
      stage.done("plan", "apply", plan);
      assert.equal(original(), states.at(-1)?.replace("made/by/hand f 644 \n", "made/by/two f 644 \n"));
    });
  }

  for (const [actor, strategy] of CASES) {
    it(`[I8] as ${actor}, with ${strategy}: each apply lands every write before it and none after`, async () => {
      using stage = new Stage(actor);
      const { plan, command } = await working(stage, strategy, ["sh", "-c", NAMES]);
      const others = ["n-1", "new/n-1", "new/other"].map((path) => join(stage.project, path));
      for (let round = 0; round < 2; round += 1) {
        const said = saidBy(command);
        const { state } = stage.answer("plan", "apply", plan);
        assert.equal(state, "open");
        const landed = landedIn(stage.project);
        assert.ok(landed >= said, `${landed} is from before ${said}`);
        await goesOn(command);
        assert.equal(landedIn(stage.project), landed, "something landed unseen");
        for (const path of others) writeFileSync(path, "of another writer");
      }
      await end(command);
      const said = saidBy(command);
      assert.equal(stage.answer("plan", "apply", plan).state, "applied");
      for (const path of others) assert.equal(readFileSync(path, "utf8"), "of another writer");
      assert.ok(landedIn(stage.project) >= said);
    });

    for (const how of IS_LONG ? ["descriptor", "mapping"] : ["mapping"])
      it(`[I8] as ${actor}, with ${strategy}: what a program writes to a ${how} after an apply lands with the next one`, async () => {
        using stage = new Stage(actor);
        const original = () => readFileSync(join(stage.project, "a.txt"), "utf8");
        const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=${strategy}`).trim();
        const holder = stage.start(["plan", "exec", plan, "--", process.execPath, HOLDER, how, "a.txt"]);
        await holder.until(() => holder.stdout === "ready\n");
        for (const text of ["two", "six", "ten"]) {
          const before = original();
          await write(holder, text);
          assert.equal(original(), before, "it landed unseen");
          assert.equal(stage.answer("plan", "apply", plan).participants[0].changes, 1);
          assert.equal(original(), `${text}\n`);
        }
        await write(holder, "end");
        assert.equal(original(), "ten\n");
        await end(holder);
        // An overlay does not take back what its sandbox has gone on from.
        if (strategy === "overlay")
          assert.match(
            stage.drydock(["plan", "undo", plan]).stderr,
            /the sandbox has changed it since: a[.]txt/,
          );
        else {
          stage.done("plan", "undo", plan);
          assert.equal(original(), "six\n");
        }
        stage.done("plan", "apply", plan);
        assert.equal(original(), "end\n");
      });
  }

  for (const [actor, strategy] of CASES) {
    it(`[I8] [I9] as ${actor}, with ${strategy}: an apply that is killed at any step lands all or nothing, and loses nothing`, async () => {
      using stage = new Stage(actor);
      const { plan, command } = await working(stage, strategy, ["sh", "-c", NAMES]);
      const apply = ["plan", "apply", plan];
      const points = failpointsOf(stage, apply).filter((name) => IS_LONG || APPLY_POINTS.has(name));
      assert.ok(points.length >= APPLY_POINTS.size, points.join());
      for (const point of points) {
        const { status } = stage.drydock(apply, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
        assert.equal(status, null, `it was not killed at ${point}`);
        await goesOn(command);
        const recovery = stage.drydock(["recover"]);
        assert.equal(recovery.status, 0, recovery.stderr);
        assert.equal(stage.answer("plan", "show", plan).state, "open");
        landedIn(stage.project);
        await goesOn(command);
      }
      await end(command);
      const said = saidBy(command);
      stage.done(...apply);
      assert.ok(landedIn(stage.project) >= said);
    });
  }

  for (const [actor, strategy] of RESTORES) {
    it(`[I8] [I9] as ${actor}, with ${strategy}: a restore takes back every write before it and none after, also if it is killed`, async () => {
      using stage = new Stage(actor);
      const { plan, command } = await working(stage, strategy, ["perl", "-e", LINKS]);
      const { id } = stage.answer("plan", "checkpoint", plan);
      await goesOn(command);
      const restore = ["plan", "restore", plan, id];
      stage.done(...restore);
      await goesOn(command);
      const removal = strategy === "overlay" ? "mounted.remove" : "restore.remove";
      const { status } = stage.drydock(restore, { env: { DRYDOCK_FAILPOINT: `${removal}:2=kill` } });
      assert.equal(status, null);
      await goesOn(command);
      const before = saidBy(command);
      const recovery = stage.start(["recover"], { DRYDOCK_FAILPOINT: `${removal}:1=stop` });
      await recovery.stopped();
      await standsStill(command);
      recovery.signal("SIGCONT");
      assert.equal((await recovery.ended()).status, 0);
      await goesOn(command);
      await end(command);
      stage.done("plan", "apply", plan);
      const landed = numbersIn(stage.project);
      const saved = landed.findIndex((number, index) => number !== index + 1);
      assert.ok(saved > 0, "nothing was taken back");
      const [first = 0] = landed.slice(saved);
      assert.ok(first > before, `${first} is from before ${before}`);
      assert.deepEqual(
        landed.slice(saved),
        upTo(landed.length - saved).map((number) => first + number - 1),
      );
    });

    it(`[I8] as ${actor}, with ${strategy}: a restore is refused that takes a file away from a program that writes to it`, async () => {
      using stage = new Stage(actor);
      const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=${strategy}`).trim();
      const { id } = stage.answer("plan", "checkpoint", plan);
      const command = ["plan", "exec", plan, "--", process.execPath, HOLDER, "mapping", "a.txt"];
      const holder = stage.start(command);
      await holder.until(() => holder.stdout === "ready\n");
      await write(holder, "two");
      const { status, stderr } = stage.drydock(["plan", "restore", plan, id]);
      assert.equal(status, 1);
      assert.match(stderr, /A command of the plan has a\.txt open for writing/);
      await write(holder, "six");
      await end(holder);
      assert.equal(stage.done("plan", "read", plan, "project", "a.txt"), "six\n");
      stage.done("plan", "restore", plan, id);
      assert.equal(stage.done("plan", "read", plan, "project", "a.txt"), "one\n");
      stage.done("plan", "cancel", plan);
    });
  }
});
