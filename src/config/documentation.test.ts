import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { BUILT_IN_RESOURCE_TYPES } from "../core/resource/resource.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../core/strategy-names.ts";
import { configJsonSchema, type JsonSchema } from "./json-schema.ts";
import { loadConfig } from "./load.ts";
import { yamlOnOneLine } from "./yaml/yaml-text.ts";

const guide = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");

/** Every key that has a value of its own, with its default. */
function leaves(schema: JsonSchema, name: string): readonly (readonly [string, unknown])[] {
  const forms = [schema, ...(schema.anyOf ?? [])];
  const keys = forms.flatMap((form) => Object.entries(form.properties ?? {}));
  const below = keys.flatMap(([key, value]) => leaves(value, name === "" ? key : `${name}.${key}`));
  const named = schema.additionalProperties;
  const ofNames = typeof named === "object" ? leaves(named, `${name}.NAME`) : [];
  const ofItems = schema.items === undefined ? [] : leaves(schema.items, `${name}[]`).filter(hasKey);
  const inside = [...below, ...ofNames, ...ofItems];
  return inside.length > 0 ? inside : [[name, schema.default]];
}

/** An item that is no map has no keys of its own. */
function hasKey([name]: readonly [string, unknown]): boolean {
  return !name.endsWith("[]");
}

describe("docs/configuration.md", () => {
  const all = leaves(configJsonSchema(), "");

  it("has a row for every key, with its default", () => {
    assert.equal(all.length, 71);
    for (const [name, value] of all) {
      const row = guide.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
      assert.ok(row !== undefined, `there is no row for ${name}`);
      if (value !== undefined) assert.equal(row.split(" | ")[1], `\`${yamlOnOneLine(value)}\``);
    }
  });

  it("has no row for a key that does not exist", () => {
    const known = [...all.map(([name]) => name), "sandbox.custom_strategies.NAME"];
    for (const [, name] of guide.matchAll(/^\| `([^`]+)` \|/gm)) assert.ok(known.includes(name ?? ""), name);
  });

  it("[S6] names the built-in strategies and types as they are defined", () => {
    const quoted = (names: readonly string[]) => names.map((name) => `\`${name}\``);
    const text = guide.replaceAll(/\s+/g, " ");
    assert.ok(
      text.includes(
        `one of ${quoted(BUILT_IN_STRATEGY_NAMES)
          .join(", ")
          .replace(/, ([^,]*)$/, " and $1")}`,
      ),
    );
    assert.ok(text.includes(quoted(BUILT_IN_RESOURCE_TYPES).join(", ")));
  });

  it("has an example that works", () => {
    const [, text = ""] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? [];
    const config = loadConfig({
      file: "/project/drydock.yaml",
      text,
      environment: { DATABASE_PASSWORD: "p" },
    });
    assert.deepEqual(
      config.resources.map(({ location }) => location),
      ["/project/app", "/project/app/cache", "postgres://app:p@localhost/data"],
    );
  });

  it("shows an error as it is", () => {
    const text = "sandbox:\n  stratgy: auto\n";
    assert.throws(
      () => loadConfig({ file: "drydock.yaml", text, environment: {} }),
      (error: Error & { hint: string }) => guide.includes(`  ${error.message}\n  ${error.hint}\n`),
    );
  });
});
