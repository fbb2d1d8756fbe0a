import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { claimsExclude } from "./claims.ts";

describe("claimsExclude", () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["plan:P", "plan:P", true],
    ["plan:P", "plan:Q", false],
    ["plan:/a", "plan:/a/b", false],
    ["path:/a/b", "path:/a/b", true],
    ["path:/a/b", "path:/a/b/c/d", true],
    ["path:/a/b", "path:/a/bc", false],
    ["path:/a/b", "path:/a/c", false],
    ["path:/a/b/c", "path:/x/b/c", false],
    ["path:/", "path:/a", true],
    ["path:/a", "path:/a/", true],
    ["path:/a", "plan:/a", false],
    ["shared:path:/a", "shared:path:/a", false],
    ["shared:path:/a", "shared:path:/a/b", false],
    ["shared:path:/a", "path:/a/b", true],
    ["shared:path:/a/b", "path:/a", true],
    ["shared:path:/a", "path:/b", false],
    ["shared:location:x", "location:x", true],
    ["path:/a\udcff", "path:/a\udcff/b", true],
    ["path:/a\udcff", "path:/a\udcfe/b", false],
  ];
  for (const [one, other, expected] of cases) {
    it(`[A14] says ${expected} for ${JSON.stringify(one)} and ${JSON.stringify(other)}, in both orders`, () => {
      assert.equal(claimsExclude(one, other), expected);
      assert.equal(claimsExclude(other, one), expected);
    });
  }
});
