import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Author, TWO_PHASE } from "./author.ts";

describe("Which strategy a resource gets", () => {
  it("[S5] is said by the plan, else the resource, else its type, else the config, else what works; and why is shown", async () => {
    await using author = new Author();
    author.write(
      "drydock.yaml",
      JSON.stringify({
        sandbox: { strategy: "filesystem_copy", custom_strategies: { document: TWO_PHASE } },
        resource_types: {
          "json-document": { extends: "fs-file", sandbox_strategy: "document" },
          "own-document": { extends: "json-document" },
        },
        resources: {
          named: { location: "./notes.json", type: "json-document", strategy: "overlay" },
          typed: { location: "./notes.json", type: "own-document" },
          plain: { location: "./notes.json" },
          automatic: { location: "./notes.json", strategy: "auto" },
        },
      }),
    );
    const { plans, doctor } = await author.open();
    const chosen = async (location: string, strategy?: string) => {
      const plan = await plans.create({
        resources: [{ location, ...(strategy !== undefined && { strategy }) }],
      });
      const [resource] = (await plans.show(plan.id)).resources;
      return [resource?.strategy, resource?.why.replace(/;.*/, "")];
    };
    assert.deepEqual(await chosen("named", "filesystem_copy"), [
      "filesystem_copy",
      "asked for when the plan was made",
    ]);
    assert.deepEqual(await chosen("named"), ["overlay", "named by the resource in the config"]);
    assert.deepEqual(await chosen("typed"), ["document", "named by the type json-document in the config"]);
    assert.deepEqual(await chosen("plain"), ["filesystem_copy", "named by sandbox.strategy in the config"]);
    assert.deepEqual((await chosen("automatic"))[1], "the strongest that works here");
    const { resourceTypes, strategies } = await doctor();
    assert.deepEqual(
      resourceTypes.filter(({ type }) => type === "own-document"),
      [{ type: "own-document", strategy: "document", why: "named by the type json-document in the config" }],
    );
    assert.ok(strategies.some(({ name, works }) => name === "document" && works));
  });
});
