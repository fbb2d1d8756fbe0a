import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JsonList, jsonDocument } from "./json-document.ts";

describe("the document of --json", () => {
  it("is the value and the end of the line", () => {
    assert.equal([...jsonDocument({ a: 1, b: undefined }, 0)].join(""), '{"a":1}\n');
    assert.equal([...jsonDocument({ a: 1 }, 2)].join(""), '{\n  "a": 1\n}\n');
  });

  it("shows a byte that is not UTF-8 as \\udcHH", () => {
    assert.equal([...jsonDocument({ path: "caf\udce9" }, 0)].join(""), '{"path":"caf\\udce9"}\n');
  });

  it("comes in pieces where a list is long, and means the same", () => {
    const changes = Array.from({ length: 2_500 }, (_, index) => ({
      path: `file ${index}`,
      before: undefined,
    }));
    const value = { planId: "x", missing: undefined, changes, none: [], stats: { added: 2_500 } };
    const pieces = [...jsonDocument(value, 0)];
    assert.ok(pieces.length > 5);
    assert.equal(pieces.join(""), `${JSON.stringify(value)}\n`);
  });

  it("is the same whether a list is there as a whole or took one item after the other", () => {
    for (const length of [0, 1, 1_000, 1_001, 2_002, 2_500]) {
      const changes = Array.from({ length }, (_, index) => ({ path: `file ${index}` }));
      const list = new JsonList();
      for (const change of changes) list.add(change);
      const indent = length > 1_000 ? 0 : 2;
      const expected = `${JSON.stringify({ id: "x", changes, last: 1 }, undefined, indent)}\n`;
      assert.equal(
        [...jsonDocument({ id: "x", changes: list, last: 1 }, 2)].join(""),
        expected,
        `${length} items`,
      );
    }
  });
});
