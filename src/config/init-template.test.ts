import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { initTemplate } from "./init-template.ts";
import { configJsonSchema, type JsonSchema } from "./json-schema.ts";
import { loadConfig } from "./load.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";

const file = "/project/drydock.yaml";

/** The template with the comments that hold examples made real. */
function withExamples(): string {
  return initTemplate().replaceAll(/^( *)# ( *)([\w-]+:( [.\w/:@-]+)?)$/gm, "$1$2$3");
}

describe("initTemplate", () => {
  it("stands for exactly the defaults", () => {
    assert.deepEqual(loadConfig({ file, text: initTemplate(), environment: {} }), {
      file,
      ...DEFAULT_SETTINGS,
    });
  });

  it("names and explains every key of the first two levels", () => {
    const lines = initTemplate().split("\n");
    const check = (schema: JsonSchema): void => {
      for (const [key, below] of Object.entries(schema.properties ?? {})) {
        const at = lines.findIndex((line) => new RegExp(`^ *(# +)?${key}:`).test(line));
        assert.match(lines[at - 1] ?? "", /^[ #]*# \S/, key);
        check(below);
      }
    };
    check(configJsonSchema());
  });

  it("has examples that work once they are no comments any more", () => {
    const config = loadConfig({ file, text: withExamples(), environment: {} });
    assert.deepEqual(config.resources, [{ name: "app", location: "/project/app", type: "fs-directory" }]);
    assert.deepEqual(
      config.sandbox.customStrategies.map(({ className }) => className),
      ["MyStrategy"],
    );
    assert.equal(config.fleet?.host, "web1");
    assert.deepEqual(
      config.resourceTypes.map(({ name }) => name),
      ["build-folder"],
    );
  });

  it("fits a terminal of 100 columns", () => {
    for (const line of initTemplate().split("\n")) assert.ok(line.length <= 100, line);
  });
});
