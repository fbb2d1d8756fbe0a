import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PlanResource } from "../../core/plan.ts";
import { claimsExclude } from "../../store/claims.ts";
import { claimsOf, claimsToMake } from "./claims.ts";

function resource(location: string): PlanResource {
  return {
    resource: { id: location, name: location, type: "fs-directory", location, properties: {} },
    strategy: "any",
    why: "for a test",
  };
}

function plan(id: string, ...locations: readonly string[]) {
  return { id, resources: locations.map(resource) };
}

function exclude(one: readonly string[], other: readonly string[]): boolean {
  return one.some((key) => other.some((their) => claimsExclude(key, their)));
}

describe("the claims of a plan", () => {
  it("are of the plan and each of its originals, paths and others", () => {
    assert.deepEqual(claimsOf(plan("P", "/a", "postgres://host/db")), [
      "plan:P",
      "path:/a",
      "location:postgres://host/db",
    ]);
  });

  it("exclude a landing in the same original, above it and below it", () => {
    for (const location of ["/a/b", "/a", "/a/b/c"])
      assert.ok(exclude(claimsOf(plan("P", "/a/b")), claimsOf(plan("Q", location))), location);
    assert.ok(!exclude(claimsOf(plan("P", "/a/b")), claimsOf(plan("Q", "/a/bc"))));
  });

  it("let plans be made of one original at the same time, but not while something lands in it", () => {
    assert.ok(!exclude(claimsToMake(plan("P", "/a")), claimsToMake(plan("Q", "/a/b"))));
    assert.ok(exclude(claimsToMake(plan("P", "/a")), claimsOf(plan("Q", "/a/b"))));
  });

  it("let one process at a time work on a plan, also while it is made", () => {
    assert.ok(exclude(claimsToMake(plan("P")), claimsToMake(plan("P"))));
    assert.ok(!exclude(claimsOf(plan("P")), claimsOf(plan("Q"))));
  });
});
