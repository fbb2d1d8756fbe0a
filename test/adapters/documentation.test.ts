import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { blocksOf, DocumentationProject, examplesOf } from "../library/documentation-project.ts";

const PAGE = "docs/adapters.md";

/** The models that the reader brings. */
const files = {
  "model.ts": `import { modelThatRuns } from "${join(import.meta.dirname, "ai-sdk-model.ts")}";
export const model = modelThatRuns("sed -i s/Old/Welcome/ index.html");
`,
  "chat-model.ts": `import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
export const chatModel = fakeModel()
  .respondWithTools([{ name: "execute", args: { command: "echo Welcome > greeting.txt" } }])
  .respond(new AIMessage("Done."));
`,
};

describe("the examples of the page on frameworks", () => {
  const examples = examplesOf(PAGE);
  const project = new DocumentationProject(examples, {
    packages: ["@langchain", "ai", "deepagents", "zod"],
    files,
  });
  after(() => project[Symbol.dispose]());

  it("all say what they print", () => {
    assert.ok(examples.length > 0);
    assert.equal(examples.length, blocksOf(PAGE));
  });

  it("[P12] compile, against the types of the package and of the frameworks", () => {
    assert.deepEqual(project.check(), []);
  });

  examples.forEach(({ heading, output }, at) => {
    it(`[P12] print what the page says: ${heading}`, () => {
      const result = project.run(at);
      assert.deepEqual([result.errors, result.status], ["", 0]);
      assert.equal(result.output, output);
    });
  });
});
