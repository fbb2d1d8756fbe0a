import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

const PROJECT = join(import.meta.dirname, "../..");

const IN_PLACE = "sandbox:\n  strategy: none\nresources:\n  web: { location: ./app }\n";

describe("the config on the command line", () => {
  it("is written by init, which never overwrites one", () => {
    using place = new Workplace();
    const file = join(place.path, "drydock.yaml");
    assert.equal(
      place.done("init"),
      `Wrote ${file}. It counts once you trust it: edit it, then run 'drydock trust'.\n`,
    );
    const [, address = ""] =
      /^# yaml-language-server: \$schema=(.*)\n/.exec(place.read("drydock.yaml")) ?? [];
    const { name, version } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8"));
    const [, path = ""] = address.split(`https://unpkg.com/${name}@${version}/`);
    assert.equal(JSON.parse(readFileSync(join(PROJECT, path), "utf8")).title, "drydock.yaml");
    assert.match(place.read("drydock.yaml"), /^# .*\n(?:.*\n)*sandbox:\n(?:.*\n)* {2}strategy: auto\n/);
    place.write("drydock.yaml", "# mine\n");
    assertRefused(place.drydock(["init"]), 2, /There already is a \S+drydock\.yaml\./);
    assert.equal(place.read("drydock.yaml"), "# mine\n");
    using other = new Workplace();
    assert.deepEqual(other.answer("init"), { file: join(other.path, "drydock.yaml") });
  });

  it("[X6] is ignored with one line until it is trusted, and again once it has changed", () => {
    using place = new Workplace();
    const file = place.write("project/drydock.yaml", IN_PLACE);
    const cwd = place.folder("project/app", { "a.txt": "a\n" });
    const list = () => place.drydock(["plan", "list", "--json"], { cwd });
    const ignored = list();
    assert.deepEqual(JSON.parse(ignored.stdout), { plans: [] });
    assert.equal(ignored.stderr, `ignoring ${file}: not trusted; run 'drydock trust ${file}' to use it\n`);
    // Nothing of it counts: neither the strategy, which would need the user's word, nor the resource.
    const created = JSON.parse(place.drydock(["plan", "create", "-r", ".", "--json"], { cwd }).stdout);
    assert.notEqual(created.resources[0].strategy, "none");
    assert.equal(place.drydock(["plan", "create", "-r", "web"], { cwd }).status, 2);

    const trusted = place.drydock(["trust"], { cwd });
    assert.deepEqual(trusted, { status: 0, stdout: `Trusted ${file} as it is now.\n`, stderr: "" });
    assert.equal(list().stderr, "");
    const asDeclared = place.drydock(["plan", "create", "-r", "web", "--allow-irreversible", "--json"], {
      cwd,
    });
    const [{ name, location, strategy, why }] = JSON.parse(asDeclared.stdout).resources;
    assert.deepEqual([name, location, strategy], ["web", cwd, "none"]);
    assert.match(why, /sandbox\.strategy in the config/);

    place.write("project/drydock.yaml", `${IN_PLACE}# changed\n`);
    assert.match(list().stderr, /^ignoring \S+: changed since it was trusted; run 'drydock trust/);
  });

  it("suggests no command that a hostile folder name could turn into another", () => {
    using place = new Workplace();
    const hostile = "a';touch pwned;'\nb";
    place.write(`${hostile}/drydock.yaml`, "");
    const { stderr } = place.drydock(["plan", "list"], { cwd: join(place.path, hostile) });
    assert.match(stderr, /^ignoring .*: not trusted; run 'drydock trust' to use it\n$/);
  });

  it("[X6] counts without being trusted if it is named, by an option or the environment", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "a\n" });
    place.write("settings.yaml", IN_PLACE);
    const create = ["plan", "create", "-r", "web", "--allow-irreversible", "--json"];
    for (const ended of [
      place.drydock(["--config", "settings.yaml", ...create]),
      place.drydock(create, { env: { DRYDOCK_CONFIG: "settings.yaml" } }),
    ]) {
      assert.deepEqual([ended.status, ended.stderr], [0, ""]);
      assert.equal(JSON.parse(ended.stdout).resources[0].strategy, "none");
    }
  });

  it("[X5] [X6] is not trusted if it makes no sense, is not there, or others can write it", () => {
    using place = new Workplace();
    assertRefused(place.drydock(["trust"]), 2, /There is no drydock\.yaml in \S+ or above\./, /drydock init/);
    assertRefused(place.drydock(["trust", "none.yaml"]), 2, /There is no config at /);
    const file = place.write("drydock.yaml", "sandbox:\n  cleanup: sometimes\n");
    assertRefused(place.drydock(["trust"]), 2, /drydock\.yaml:2:12: /);
    place.write("drydock.yaml", IN_PLACE);
    chmodSync(file, 0o666);
    assertRefused(place.drydock(["trust", file]), 2, /cannot be trusted: everybody can write it/);
    chmodSync(file, 0o644);
    assert.deepEqual(place.answer("trust", file), { file, modules: [], packages: [], hidesText: [] });
  });

  it("takes the place of the state from an option, the environment, or the home folder", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "a\n" });
    const where = (args: readonly string[], env: NodeJS.ProcessEnv) => {
      const { stdout } = place.drydock(["doctor", "--json", ...args], { env });
      return JSON.parse(stdout).stateDir;
    };
    const { path } = place;
    const unset = { DRYDOCK_STATE_DIR: undefined };
    assert.equal(where(["--state-dir", "option"], {}), join(path, "option"));
    assert.equal(where([], {}), place.state);
    assert.equal(where([], { ...unset, XDG_STATE_HOME: join(path, "xdg") }), join(path, "xdg/drydock"));
    assert.equal(where([], unset), join(path, "home/.local/state/drydock"));
    assert.equal(where([], { ...unset, XDG_STATE_HOME: "xdg" }), join(path, "home/.local/state/drydock"));
  });

  it("refuses a home that is no whole path: the state would be in whatever folder is the current one", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "a\n" });
    for (const [HOME, wrong] of [
      ["", /^error: HOME is empty\./],
      ["home", /^error: HOME is 'home', which is no whole path\./],
    ] as const) {
      const env = { DRYDOCK_STATE_DIR: undefined, HOME };
      assertRefused(
        place.drydock(["plan", "create", "-r", "app"], { env }),
        2,
        wrong,
        /Set HOME to your home/,
      );
      assert.equal(existsSync(join(place.path, ".local")) || existsSync(join(place.path, "home")), false);
      assert.equal(place.drydock(["plan", "list"], { env: { HOME } }).status, 0);
    }
  });
});
