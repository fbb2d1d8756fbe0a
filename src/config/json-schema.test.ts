import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { BUILT_IN_STRATEGY_NAMES } from "../core/strategy-names.ts";
import { configJsonSchema, keysOf, schemaAt } from "./json-schema.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

describe("configJsonSchema", () => {
  it("[S6] names every built-in strategy, and auto, wherever a strategy is named", () => {
    for (const path of [
      ["sandbox", "strategy"],
      ["resources", "x", "strategy"],
      ["resource_types", "x", "sandbox_strategy"],
    ]) {
      const [known] = schemaAt(configJsonSchema(), path)?.anyOf ?? [];
      assert.deepEqual((known as { enum?: readonly string[] }).enum, ["auto", ...BUILT_IN_STRATEGY_NAMES]);
    }
  });

  it("is in the file that is shipped", () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(root, "scripts/config-schema.ts"), "--check"],
      {
        encoding: "utf8",
      },
    );
    assert.equal(status, 0, stderr);
  });
});

describe("schemaAt", () => {
  const schema = configJsonSchema();

  it("goes down keys, names, lists and forms", () => {
    assert.equal(schemaAt(schema, ["sandbox", "undo", "keep"])?.default, "7d");
    assert.equal(schemaAt(schema, ["sandbox", "checkpoint", "auto_create_on", 0])?.type, "string");
    assert.equal(schemaAt(schema, ["sandbox", "custom_strategies", "any", "module"])?.type, "string");
    assert.equal(schemaAt(schema, ["sandbox", "nothing", "below"]), undefined);
    const keys = ["location", "type", "strategy", "from", "parent"];
    assert.deepEqual(keysOf(schemaAt(schema, ["resources", "any"]) ?? {}), keys);
  });
});

describe("scripts/config-schema.ts", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-schema-"));
    mkdirSync(join(folder, "scripts"));
    copyFileSync(join(root, "scripts/config-schema.ts"), join(folder, "scripts/config-schema.ts"));
    for (const name of ["src", "package.json"]) symlinkSync(join(root, name), join(folder, name));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(folder, "scripts/config-schema.ts"), ...args], { encoding: "utf8" });

  it("writes the file, and fails with --check while it is missing or stale", () => {
    const file = join(folder, "schema/drydock.schema.json");
    assert.equal(run("--check").status, 1);
    assert.equal(run().status, 0);
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), JSON.parse(JSON.stringify(configJsonSchema())));
    assert.equal(run("--check").status, 0);
    writeFileSync(file, "{}\n");
    const stale = run("--check");
    assert.equal(stale.status, 1);
    assert.match(stale.stderr, /is stale: run/);
  });
});
