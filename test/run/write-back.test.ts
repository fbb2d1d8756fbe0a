import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { ACTORS, type Actor, ANY_ACTOR, inTurn, Stage } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

const SAVE = "echo new > ~/.claude.json.tmp && mv ~/.claude.json.tmp ~/.claude.json";
const RUN = ["run", "--discard", "--profile", "claude", "--", "sh", "-c"];
/** Waits in the folder that the profile shares. */
const WAIT = "touch ~/.claude/ready; until test -e ~/.claude/go; do sleep 0.02; done";

/** A file in a folder that the home does not have. */
const TOOL = "run: { home: { write_back: [~/.tool/own/settings] } }\n";
const MAKE = [
  "run",
  "--discard",
  "--",
  "sh",
  "-c",
  "mkdir -m 711 ~/.tool; mkdir ~/.tool/own; echo new > ~/.tool/own/settings",
];

const OWN_HOME = "run: { home: { own: true } }\n";

/** A home with the settings of an agent. */
class Settings {
  readonly stage: Stage;
  readonly file: string;

  constructor(stage: Stage, { text = "old\n", config = "" } = {}) {
    this.stage = stage;
    this.file = join(stage.home, ".claude.json");
    if (text !== "") stage.write("home/.claude.json", text);
    stage.write("home/.claude/state", "");
    if (config !== "") stage.write("home/.config/drydock/config.yaml", config);
    stage.give();
  }

  get text(): string {
    return readFileSync(this.file, "utf8");
  }

  /** What is in the home, but for the caches that plans share and the config. */
  get names(): readonly string[] {
    return readdirSync(this.stage.home)
      .filter((name) => name !== ".cache" && name !== ".config")
      .toSorted();
  }
}

const WHERE: readonly (readonly [string, (actor: Actor) => Stage])[] = [
  ["", (actor) => new Stage(actor)],
  [", also where there are no namespaces", (actor) => new WalledStage(actor)],
];

for (const actor of ACTORS) {
  describe(`A file of the home that a command of ${actor} replaces`, () => {
    const it = inTurn(actor);
    for (const [where, make] of WHERE)
      it(`[I1] takes the place of the user's when it has ended, and the next one begins with it${where}`, () => {
        using stage = make(actor);
        const settings = new Settings(stage);
        const { mode } = statSync(settings.file);
        const { status, stderr } = stage.drydock([...RUN, SAVE]);
        assert.equal(status, 0, stderr);
        assert.doesNotMatch(stderr, /outside the plan|changed while/);
        assert.equal(settings.text, "new\n");
        assert.equal(statSync(settings.file).mode, mode);
        assert.deepEqual(settings.names, [".claude", ".claude.json"]);
        assert.equal(stage.drydock([...RUN, "cat ~/.claude.json"]).stdout, "new\n");
      });

    it("[I1] is there afterwards if it was not before, and is left alone by a command that only reads it", () => {
      using stage = new Stage(actor);
      const settings = new Settings(stage, { text: "" });
      assert.equal(stage.drydock([...RUN, "test ! -e ~/.claude.json"]).status, 0);
      assert.equal(existsSync(settings.file), false);
      assert.equal(stage.drydock([...RUN, SAVE]).status, 0);
      const { ino } = statSync(settings.file);
      assert.equal(stage.drydock([...RUN, "cat ~/.claude.json"]).stdout, "new\n");
      assert.equal(statSync(settings.file).ino, ino);
    });

    it("[I1] gets its folder if the home has none, with the access rights that the command gave it", () => {
      using stage = new Stage(actor);
      new Settings(stage, { config: TOOL });
      const { status, stderr } = stage.drydock(MAKE);
      assert.equal(status, 0, stderr);
      assert.doesNotMatch(stderr, /settings/);
      const tool = join(stage.home, ".tool");
      assert.equal(readFileSync(join(tool, "own/settings"), "utf8"), "new\n");
      assert.equal(statSync(tool).mode & 0o777, 0o711);
    });

    it("[I1] stays in the plan, and it says why, if something else is where its folder would be", async () => {
      using stage = new Stage(actor);
      new Settings(stage, { config: TOOL });
      const running = stage.start(MAKE, { DRYDOCK_FAILPOINT: "run.write-back-folder:1=stop" });
      await running.stopped();
      const tool = join(stage.home, ".tool");
      writeFileSync(tool, "theirs\n");
      running.signal("SIGCONT");
      const { stderr } = await running.ended();
      assert.match(
        stderr,
        /settings can't be put back, because something else is where its folder would be;/,
      );
      assert.equal(readFileSync(tool, "utf8"), "theirs\n");
    });

    it("[I1] stays in the plan, and is named, if the user's changed meanwhile", async () => {
      using stage = new Stage(actor);
      const settings = new Settings(stage);
      const keep = RUN.map((word) => (word === "--discard" ? "--keep" : word));
      const running = stage.start([...keep, `${WAIT}; ${SAVE}`]);
      await running.until(() => existsSync(join(stage.home, ".claude/ready")));
      writeFileSync(settings.file, "theirs\n");
      writeFileSync(join(stage.home, ".claude/go"), "");
      const { stderr } = await running.ended();
      assert.match(stderr, /\.claude\.json changed while the command ran; what the command made of it is in/);
      assert.equal(settings.text, "theirs\n");
      assert.deepEqual(settings.names, [".claude", ".claude.json"]);
      const [{ id }] = stage.answer("plan", "list").plans;
      assert.deepEqual(
        stage.answer("plan", "scratch", "list", id).files.map(({ path }: { path: string }) => path),
        [settings.file],
      );
    });

    it("[I1] never replaces what another writer puts there at the last moment", async () => {
      using stage = new Stage(actor);
      const settings = new Settings(stage);
      const running = stage.start([...RUN, SAVE], { DRYDOCK_FAILPOINT: "run.write-back-exchange:1=stop" });
      await running.stopped();
      writeFileSync(settings.file, "at the last moment\n");
      running.signal("SIGCONT");
      await running.ended();
      assert.equal(settings.text, "at the last moment\n");
      assert.deepEqual(settings.names, [".claude", ".claude.json"]);
    });
  });
}

describe("Drydock is killed while it puts back what a command replaced", () => {
  const POINTS = {
    "run.write-back-note": 4,
    "run.write-back-copy": 4,
    "run.write-back-exchange": 1,
    "run.write-back-clear": 2,
  };
  for (const [point, passes] of Object.entries(POINTS))
    for (const nth of Array.from({ length: passes }, (_, index) => index + 1))
      it(`[I1] at ${point}, pass ${nth}: the user's file is whole, and the command's takes its place in the end`, () => {
        using stage = new Stage("user");
        const settings = new Settings(stage);
        const env = { DRYDOCK_FAILPOINT: `${point}:${nth}=kill` };
        assert.equal(stage.drydock([...RUN, SAVE], { env }).status, null, "it was not killed");
        assert.match(settings.text, /^(?:old|new)\n$/);
        assert.equal(stage.drydock(["recover"]).status, 0);
        // The first note, which takes two steps, comes before the command.
        const isBefore = point === "run.write-back-note" && nth <= 2;
        assert.equal(settings.text, isBefore ? "old\n" : "new\n");
        assert.deepEqual(settings.names, [".claude", ".claude.json"]);
      });
});

describe("Drydock is killed while it makes the folder of such a file", () => {
  for (const nth of [1, 2])
    it(`[I1] at run.write-back-folder, pass ${nth}: the file is there in the end`, () => {
      using stage = new Stage("user");
      new Settings(stage, { config: TOOL });
      const env = { DRYDOCK_FAILPOINT: `run.write-back-folder:${nth}=kill` };
      assert.equal(stage.drydock(MAKE, { env }).status, null, "it was not killed");
      assert.equal(stage.drydock(["recover"]).status, 0);
      assert.equal(readFileSync(join(stage.home, ".tool/own/settings"), "utf8"), "new\n");
    });
});

describe("The user's file in a home of the plan's own", () => {
  for (const actor of ANY_ACTOR)
    it(`[I1] is a copy, which takes the place of ${actor}'s only if the command changed it`, () => {
      using stage = new Stage(actor);
      const settings = new Settings(stage, { config: OWN_HOME });
      const { ino } = statSync(settings.file);
      const read = stage.drydock([...RUN, "cat ~/.claude.json"]);
      assert.equal(read.stdout, "old\n", read.stderr);
      assert.equal(statSync(settings.file).ino, ino);
      const { status, stderr } = stage.drydock([...RUN, "echo more >> ~/.claude.json"]);
      assert.equal(status, 0, stderr);
      assert.doesNotMatch(stderr, /outside the plan|changed while/);
      assert.equal(settings.text, "old\nmore\n");
      assert.deepEqual(settings.names, [".claude", ".claude.json"]);
    });

  const PASSES = IS_LONG ? [1, 2, 3, 4, 5] : [5];
  for (const nth of PASSES)
    it(`[I1] stays if Drydock is killed at run.own-home, pass ${nth}, and the next command begins with it`, () => {
      using stage = new Stage("user");
      const settings = new Settings(stage, { config: OWN_HOME });
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const exec = (line: string, env = {}) =>
        stage.drydock(["plan", "exec", id, "--profile", "claude", "--", "sh", "-c", line], { env });
      const killed = exec(SAVE, { DRYDOCK_FAILPOINT: `run.own-home:${nth}=kill` });
      assert.equal(killed.status, null, "it was not killed");
      writeFileSync(settings.file, "theirs\n");
      const next = exec("cat ~/.claude.json");
      assert.equal(next.stdout, "theirs\n", next.stderr);
      assert.equal(settings.text, "theirs\n");
      assert.deepEqual(settings.names, [".claude", ".claude.json"]);
    });
});
