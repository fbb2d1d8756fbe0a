import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonDocument } from "./json-document.ts";

describe("the document of --json", () => {
  it("is the value and the end of the line", () => {
    assert.equal([...jsonDocument({ a: 1, b: undefined }, 0)].join(""), '{"a":1}\n');
    assert.equal([...jsonDocument({ a: 1 }, 2)].join(""), '{\n  "a": 1\n}\n');
  });

  it("shows a byte that is not UTF-8 as \\udcHH", () => {
    assert.equal([...jsonDocument({ path: "caf\udce9" }, 0)].join(""), '{"path":"caf\\udce9"}\n');
  });

  it("comes in pieces where a list is long, and means the same", () => {
    const changes = Array.from({ length: 2_500 }, (_, index) => ({ path: `file ${index}`, before: undefined }));
    const value = { planId: "x", missing: undefined, changes, none: [], stats: { added: 2_500 } };
    const pieces = [...jsonDocument(value, 0)];
    assert.ok(pieces.length > 5);
    assert.equal(pieces.join(""), `${JSON.stringify(value)}\n`);
  });
});
