import assert from "node:assert/strict";
import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, type Actor, ANY_ACTOR, Stage } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

const RUN = ["run", "--discard"];
const AGENT = [...RUN, "--profile", "claude", "--", "sh", "-c"];
const NODE = [...RUN, "--profile", "node", "--", "sh", "-c"];
const STORE = "home/.cache/drydock/caches";

/** A home with a cache of the user's own. */
function withCache(stage: Stage, config = ""): Stage {
  stage.write("home/.npm/own", "the user's\n");
  if (config !== "") stage.write("home/.config/drydock/config.yaml", config);
  stage.give();
  return stage;
}

function names(stage: Stage, path: string): readonly string[] {
  const folder = join(stage.path, path);
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
}

/** The caches are measured again at the end of the next command. */
function letTimePass(stage: Stage): void {
  utimesSync(join(stage.path, STORE, "measured"), 1000, 1000);
}

const WHERE: readonly (readonly [string, (actor: Actor) => Stage])[] = [
  ["", (actor) => new Stage(actor)],
  [", also where there are no namespaces", (actor) => new WalledStage(actor)],
];

for (const actor of ACTORS) {
  describe(`A cache that plans of ${actor} share`, () => {
    for (const [where, make] of WHERE)
      it(`[I2] serves plans that run at once, with the locks of its program, and is not the user's own${where}`, async () => {
        using stage = withCache(make(actor));
        const first = stage.start([
          ...AGENT,
          `echo one > ~/.npm/one; mkdir -p ~/.cache/pip && echo wheel > ~/.cache/pip/wheel
           exec 9>~/.cargo/.package-cache; flock 9; : > ~/.npm/ready
           until test -e ~/.npm/go; do sleep 0.02; done; cat ~/.npm/two`,
        ]);
        await first.until(() => names(stage, `${STORE}/user/.npm`).includes("ready"));
        const look = `cat ~/.npm/one ~/.cache/pip/wheel; test ! -e ~/.npm/own && echo two > ~/.npm/two
           flock -n ~/.cargo/.package-cache echo free || echo locked; : > ~/.npm/go`;
        const second = stage.drydock([...AGENT, look]);
        assert.equal(second.stdout, "one\nwheel\nlocked\n", second.stderr);
        const { stdout, stderr } = await first.ended();
        assert.equal(stdout, "two\n", stderr);
        assert.doesNotMatch(stderr, /outside the plan/);
        assert.deepEqual(names(stage, "home/.npm"), ["own"]);
        assert.deepEqual(names(stage, "home"), [".cache", ".claude", ".npm"]);
        assert.deepEqual(names(stage, "home/.cache"), ["drydock"]);
      });
  });
}

for (const actor of ANY_ACTOR) {
  describe(`The policy of caches that plans of ${actor} share`, () => {
    it("[I2] can be had by the plans of one project only, or by none, as the configs say; a project's adds nothing", () => {
      using stage = withCache(new Stage(actor));
      const shows = (args: readonly string[], user: string, project = "") => {
        stage.write("home/.config/drydock/config.yaml", user);
        stage.write("project/drydock.yaml", project);
        stage.give();
        const env = { DRYDOCK_CONFIG: join(stage.project, "drydock.yaml") };
        const { stdout, stderr } = stage.drydock([...args, "ls ~/.npm ~/.cache/uv 2>&1; echo 1 > ~/.npm/x"], {
          env,
        });
        return stdout.includes("own") ? `not shared ${/asks for [^;]*/.exec(stderr) ?? ""}`.trim() : "shared";
      };
      const plain = [...RUN, "--", "sh", "-c"];
      assert.equal(
        shows(plain, "", "run: { profile: node, cache: { limit: 1k } }"),
        "not shared asks for 1k",
      );
      assert.equal(shows(plain, "", "run: { cache: { shared: [~/.npm] } }"), "not shared asks for ~/.npm");
      assert.equal(shows(NODE, "run: { cache: { shared: [] } }"), "not shared");
      assert.equal(
        shows(NODE, "", "run: { cache: { shared: [~/.cache/uv] } }"),
        "not shared asks for ~/.cache/uv",
      );
      assert.deepEqual(names(stage, STORE), []);
      assert.equal(shows(plain, "run: { cache: { shared: [~/.npm] } }"), "shared");
      assert.equal(shows(NODE, "", "run: { cache: { scope: project } }"), "shared");
      const [project = "", ...rest] = names(stage, STORE).filter((name) => name !== "measured");
      assert.match(project, /^project-/);
      assert.deepEqual(rest, ["user"]);
      assert.deepEqual(names(stage, `${STORE}/${project}/.npm`), ["x"]);
    });

    it("[I2] goes as a whole, the least recently used first, when all are over their limit and no command uses one", async () => {
      using stage = withCache(new Stage(actor), "run: { cache: { limit: 1m } }\n");
      const fill = (name: string) => `mkdir -p ${name} && head -c 700000 /dev/urandom > ${name}/data`;
      const old = `${fill("~/.npm")}; touch -d 2001-01-01 ~/.npm/data; echo \${#HOME}`;
      assert.equal(stage.drydock([...AGENT, old]).status, 0);
      letTimePass(stage);
      const waiting = stage.start([
        ...AGENT,
        ": > ~/.npm/ready; until test -e ~/.npm/go; do sleep 0.02; done",
      ]);
      await waiting.until(() => names(stage, `${STORE}/user/.npm`).includes("ready"));
      const { stderr } = stage.drydock([...AGENT, fill("~/.cache/uv")]);
      assert.doesNotMatch(stderr, /over their limit/);
      writeFileSync(join(stage.path, STORE, "user/.npm/go"), "");
      for (const name of ["ready", "go", "data"])
        utimesSync(join(stage.path, STORE, "user/.npm", name), 1000, 1000);
      const ended = await waiting.ended();
      assert.match(ended.stderr, /over their limit of 1m: that of ~\/\.npm is removed/);
      assert.deepEqual(names(stage, `${STORE}/user`).includes(".npm"), false);
      assert.deepEqual(names(stage, `${STORE}/user/.cache%2Fuv`), ["data"]);
      assert.deepEqual(names(stage, STORE), ["measured", "user"]);
    });
  });
}

describe("Drydock is killed while it makes or prunes caches that plans share", () => {
  const FILL = "head -c 100000 /dev/urandom > ~/.npm/data";
  for (const point of ["run.cache-make", "run.cache-aside", "run.cache-remove", "run.cache-measured"])
    it(`[I2] at ${point}: each is whole or gone, and the next command has them`, () => {
      using stage = withCache(new Stage("user"), "run: { cache: { limit: 64k } }\n");
      const env = { DRYDOCK_FAILPOINT: `${point}:1=kill` };
      assert.equal(stage.drydock([...NODE, FILL], { env }).status, null, "it was not killed");
      const left = names(stage, `${STORE}/user/.npm`);
      assert.deepEqual(left, point === "run.cache-aside" ? ["data"] : []);
      const again = stage.drydock([...NODE, `ls ~/.npm; ${FILL}`]);
      assert.equal(again.status, 0, again.stderr);
      assert.equal(again.stdout, left.map((name) => `${name}\n`).join(""));
      if (existsSync(join(stage.path, STORE, "measured"))) letTimePass(stage);
      assert.equal(stage.drydock([...NODE, "true"]).status, 0);
      assert.deepEqual(names(stage, STORE), ["measured", "user"]);
      assert.deepEqual(names(stage, `${STORE}/user/.npm`), []);
      assert.deepEqual(names(stage, "home/.npm"), ["own"]);
    });
});
