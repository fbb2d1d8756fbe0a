import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ANY_ACTOR, Stage } from "./stage.ts";

/** Real package managers and compilers, with their caches. */
for (const actor of ANY_ACTOR) {
  describe(`A package manager inside, run by ${actor}`, () => {
    it("[I2] installs from the registry, for the next plan too; the packages land, the cache does not", () => {
      using stage = new Stage(actor);
      stage.write("project/package.json", '{ "name": "shop", "version": "1.0.0" }\n');
      stage.give();
      const ran = stage.drydock(["run", "--apply", "--", "npm", "install", "left-pad"], { env: registry() });
      assert.equal(ran.status, 0, ran.stderr + ran.stdout);
      assert.doesNotMatch(ran.stderr, /~\/\.npm/);
      assert.ok(existsSync(join(stage.project, "node_modules/left-pad/index.js")));
      assert.match(stage.read("project/package.json"), /left-pad/);
      assert.deepEqual(readdirSync(stage.home), [".cache"]);
      const again = [
        "run",
        "--discard",
        "--no-network",
        "--",
        "npm",
        "install",
        "--prefix",
        "again",
        "left-pad",
      ];
      const offline = stage.drydock([...again, "--offline"], { env: registry() });
      assert.equal(offline.status, 0, offline.stderr + offline.stdout);
    });
  });
}

/** Where packages come from for whoever runs the tests. */
function registry(): NodeJS.ProcessEnv {
  const { stdout } = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" });
  const passed = Object.entries(process.env).filter(([name]) =>
    /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|\w+_proxy)$/i.test(name),
  );
  return {
    ...Object.fromEntries(passed),
    npm_config_registry: stdout.trim(),
    npm_config_update_notifier: "false",
    npm_config_fund: "false",
  };
}
