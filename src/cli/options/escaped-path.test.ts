import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { escapePath, unescapePath } from "./escaped-path.ts";

describe("unescapePath", () => {
  it("takes a byte as JSON shows it", () => {
    const shown = JSON.stringify("caf\udce9/\udcff.txt").slice(1, -1);
    assert.equal(shown, "caf\\udce9/\\udcff.txt");
    assert.equal(unescapePath(shown), "caf\udce9/\udcff.txt");
    assert.equal(unescapePath("\\uDCE9"), "\udce9");
  });

  it("leaves every other backslash alone", () => {
    for (const path of ["a\\b", "a\\n", "a\\\\b", "\\x41", "\\u0041", "\\udc7f", "\\ud83d", "plain"]) {
      assert.equal(unescapePath(path), path);
    }
  });

  it("lets every name be written, those that look like an escape too", () => {
    assert.equal(unescapePath("\\\\udce9"), "\\udce9");
    assert.equal(unescapePath("\\\\\\udce9"), "\\\udce9");
    assert.equal(unescapePath("\\\\\\\\udce9"), "\\\\udce9");
  });
});

describe("escapePath", () => {
  it("writes every name so that unescapePath reads it", () => {
    for (const path of ["plain", "\udce9", "\\\udce9", "\\udce9", "\\\\udce9", "a\\b", "\\\\\udcff\\"]) {
      assert.equal(escapePath(path).isWellFormed(), true);
      assert.equal(unescapePath(escapePath(path)), path);
    }
  });
});
