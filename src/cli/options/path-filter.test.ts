import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../core/errors/errors.ts";
import { parsePathFilter } from "./path-filter.ts";

describe("a path that narrows a diff", () => {
  it("means the same however a shell completes it", () => {
    for (const given of ["src", "src/", "./src", "././src//"]) assert.equal(parsePathFilter(given), "src");
    for (const given of [".", "./", "/"]) assert.equal(parsePathFilter(given), ".");
    assert.equal(parsePathFilter(".hidden/a b"), ".hidden/a b");
    assert.equal(parsePathFilter("caf\\udce9"), "caf\udce9");
  });

  it("[X5] is refused if it is empty, or absolute: nothing in a plan is called that", () => {
    for (const given of ["", "/srv/app/src", "//srv"])
      assert.throws(() => parsePathFilter(given), UsageError);
  });
});
