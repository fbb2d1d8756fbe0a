import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rowJson, valueText } from "./row-json.ts";

describe("rows as JSON", () => {
  it("lose nothing", () => {
    const row = [9223372036854775807n, 0.1, Number.NEGATIVE_INFINITY, null, 'a"b', new Uint8Array([0, 255])];
    assert.equal(
      rowJson(["i", "r", "inf", "n", "t", "b"], row),
      '{"i":9223372036854775807,"r":0.1,"inf":-1e999,"n":null,"t":"a\\"b","b":{"base64":"AP8="}}',
    );
    assert.equal(JSON.parse(rowJson(["x"], [Number.POSITIVE_INFINITY])).x, Number.POSITIVE_INFINITY);
  });

  it("are readable in a table", () => {
    assert.deepEqual([null, 1n, "x", new Uint8Array([1, 171])].map(valueText), ["NULL", "1", "x", "x'01ab'"]);
  });
});
