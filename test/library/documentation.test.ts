import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { blocksOf, DocumentationProject, examplesOf } from "./documentation-project.ts";

const PAGE = "docs/library.md";

describe("the examples of the library's documentation", () => {
  const examples = examplesOf(PAGE);
  const project = new DocumentationProject(examples);
  after(() => project[Symbol.dispose]());

  it("all say what they print", () => {
    assert.ok(examples.length > 0);
    assert.equal(examples.length, blocksOf(PAGE));
  });

  it("compile, against the types of the package", () => {
    assert.deepEqual(project.check(), []);
  });

  examples.forEach(({ heading, output }, at) => {
    it(`print what the page says: ${heading}`, () => {
      const result = project.run(at);
      assert.deepEqual([result.errors, result.status], ["", 0]);
      assert.equal(result.output, output);
    });
  });
});
