import assert from "node:assert/strict";
import { chmodSync, mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Notice } from "../../src/core/values/notice.ts";
import { openServices } from "../../src/runtime.ts";
import { Workplace } from "../end-to-end/workplace.ts";

const CONFIG = `sandbox:
  custom_strategies:
    mine: { module: "\${MINE}", class: Mine }
`;

const MODULE = "export class Mine {}\n";

let place: Workplace;

beforeEach(() => {
  place = new Workplace();
  put("drydock.yaml", CONFIG);
  put("strategy/mine.mjs", `import "./lib/first.mjs";\n${MODULE}`);
  put(
    "strategy/lib/first.mjs",
    'export { second } from "./second.mjs";\nawait import("../data.json", { with: { type: "json" } });\n',
  );
  put("strategy/lib/second.mjs", 'import "yaml";\nexport const second = () => import("./later");\n');
  put("strategy/data.json", "{}\n");
  put("node_modules/yaml/package.json", '{ "name": "yaml", "exports": "./index.js" }\n');
  put("node_modules/yaml/index.js", "module.exports = {};\n");
});
afterEach(() => place[Symbol.dispose]());

const MINE = { MINE: "./strategy/mine.mjs" };

describe("Trust in a config that names a module", () => {
  it("[X6] covers the module and all that it names, which `drydock trust` lists", async () => {
    const trusted = place.drydock(["trust"], { env: MINE });
    assert.equal(trusted.status, 0, trusted.stderr);
    const files = ["data.json", "lib/first.mjs", "lib/second.mjs", "mine.mjs"].map(
      (name) => `  ${at(`strategy/${name}`)}`,
    );
    assert.deepEqual(trusted.stdout.split("\n"), [
      `Trusted ${at("drydock.yaml")} as it is now, and what it loads:`,
      ...files,
      "Not covered: the packages that they import (yaml).",
      "",
    ]);
    assert.equal(await ignored(), "");
    assert.match(strategies(), /"name":"mine"/);
  });

  it("[X6] ends when a file that is loaded changes or comes, with a line that says which", async () => {
    const changes: readonly (readonly [string, () => void, RegExp])[] = [
      [
        "content",
        () => put("strategy/lib/second.mjs", 'export const second = () => import("./later"); // 2\n'),
        /lib\/second\.mjs changed since it was trusted/,
      ],
      ["data", () => put("strategy/data.json", "[]\n"), /data\.json changed since/],
      ["new", () => put("strategy/lib/later.js", "evil\n"), /it loads \S+later\.js, which was not trusted/],
      ["nearer", () => put("strategy/lib/later", "evil\n"), /it loads \S+lib\/later, which was not trusted/],
      ["a link", () => moveBehindLink("strategy/lib/first.mjs"), /elsewhere\.mjs, which was not trusted/],
      ["a module", () => put("strategy/mine.mjs", MODULE), /mine\.mjs changed since it was trusted/],
      [
        "writable by all",
        () => chmodSync(at("strategy/mine.mjs"), 0o666),
        /mine\.mjs: everybody can write it/,
      ],
    ];
    for (const [what, change, line] of changes) {
      await trust();
      assert.equal(await ignored(), "", what);
      change();
      assert.match(await ignored(), line, what);
      assert.match(await ignored(), new RegExp(`^ignoring ${at("drydock.yaml")}: [^\n]*$`), what);
    }
    assert.doesNotMatch(strategies(), /"name":"mine"/);
    chmodSync(at("strategy/mine.mjs"), 0o644);
    await trust();
    assert.match(strategies(), /"name":"mine"/);
  });

  it("[X6] holds though a file is gone: what is left was trusted, and the module's own error says what is missing", async () => {
    await trust();
    rmSync(at("strategy/mine.mjs"));
    assert.equal(await ignored(), "");
    assert.match(strategies(), /there is no file/);
  });

  it("[X6] ends when another module is meant, by the environment or a package that leads elsewhere", async () => {
    await trust();
    put("other.mjs", MODULE);
    assert.match(await ignored({ MINE: "./other.mjs" }), /it loads \S+other\.mjs, which was not trusted/);
    put("node_modules/own/package.json", '{ "name": "own", "exports": "./one.mjs" }\n');
    for (const name of ["one", "two"]) put(`node_modules/own/${name}.mjs`, MODULE);
    await trust({ MINE: "own" });
    assert.equal(await ignored({ MINE: "own" }), "");
    put("node_modules/own/package.json", '{ "name": "own", "exports": "./two.mjs" }\n');
    // A process that has looked into a package once does not look again.
    const { stderr } = place.drydock(["plan", "list"], { env: { MINE: "own" } });
    assert.match(stderr, /it loads \S+two\.mjs, which was not trusted/);
  });

  it("[X6] does not outlive a plan that lands another module in the repository", async () => {
    await trust();
    const plan = place.drydock(["plan", "create", "-r", "strategy,strategy=filesystem_copy"], { env: MINE });
    assert.equal(plan.status, 0, plan.stderr);
    const write = ["plan", "write", plan.stdout.trim(), "strategy", "lib/first.mjs"];
    assert.equal(place.drydock(write, { env: MINE, input: "evil();\n" }).status, 0);
    assert.equal(place.drydock(["plan", "apply"], { env: MINE }).status, 0);
    assert.match(await ignored(), /first\.mjs changed since it was trusted/);
  });

  it("[X6] is not given where others can write the module, and counts as it is where the config is named", async () => {
    chmodSync(at("strategy/lib/second.mjs"), 0o666);
    const refused = place.drydock(["trust"], { env: MINE });
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /second\.mjs cannot be trusted: everybody can write it/);
    const named = place.drydock(["strategy", "list", "--json", "--config", "drydock.yaml"], { env: MINE });
    assert.match(named.stdout, /"name":"mine"/);
  });

  it("[X9] comes with a warning if the config or a module holds invisible characters", async () => {
    put("strategy/lib/second.mjs", "export const second = 2; // \u202e\n");
    put("drydock.yaml", `${CONFIG}# \u{e0041}\n`);
    const { stdout } = place.drydock(["trust"], { env: MINE });
    assert.match(stdout, /^warning: \S+drydock\.yaml holds invisible characters/m);
    assert.match(stdout, /^warning: \S+second\.mjs holds invisible characters/m);
  });
});

function at(path: string): string {
  return join(realpathSync(place.path), path);
}

function put(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
  chmodSync(at(path), 0o644);
}

function moveBehindLink(path: string): void {
  renameSync(at(path), at("elsewhere.mjs"));
  symlinkSync(at("elsewhere.mjs"), at(path));
}

/** What is said of the config that is found. */
async function ignored(environment: NodeJS.ProcessEnv = MINE): Promise<string> {
  const notices: string[] = [];
  const onNotice = ({ message }: Notice) => notices.push(message);
  const drydock = await openServices({ stateDir: place.state, cwd: place.path, environment, onNotice });
  await drydock.close();
  return notices.join("\n");
}

async function trust(environment: NodeJS.ProcessEnv = MINE): Promise<void> {
  const drydock = await openServices({ stateDir: place.state, cwd: place.path, environment });
  await drydock.trust("drydock.yaml");
  await drydock.close();
}

/** The strategies that there are, and those that can't be used: this one is none. */
function strategies(): string {
  return place.drydock(["strategy", "list", "--json"], { env: MINE }).stdout;
}
