import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ResourceTypes } from "./resource-types.ts";

describe("ResourceTypes", () => {
  const types = new ResourceTypes([
    {
      name: "build",
      extends: "fs-directory",
      sandboxStrategy: "copy_on_write",
      strategies: ["copy_on_write"],
    },
    { name: "cache", extends: "build", capabilities: ["read"] },
    { name: "bucket", sandboxStrategy: "s3" },
  ]);

  it("gives a type all that it has from those that it extends, nearest first", () => {
    const { lineage, sandboxStrategy, strategyFrom, strategies, capabilities, childTypes, builtIn } =
      types.get("cache");
    assert.deepEqual(lineage, ["cache", "build", "fs-directory"]);
    assert.deepEqual(
      [sandboxStrategy, strategyFrom, strategies],
      ["copy_on_write", "build", ["copy_on_write"]],
    );
    assert.deepEqual([capabilities, builtIn], [["read"], false]);
    assert.deepEqual(childTypes, types.get("fs-directory").childTypes);
  });

  it("[L5] says what may be inside of what, by what a type is made out of", () => {
    assert.ok(types.mayContain("cache", "fs-file"));
    assert.ok(types.mayContain("git-checkout", "cache"));
    assert.ok(!types.mayContain("fs-file", "cache"));
    assert.ok(!types.mayContain("fs-directory", "fs-mount"), "what is mounted on a folder is no part of it");
    assert.ok(types.mayContain("bucket", "bucket"), "a type that says nothing limits nothing");
  });

  it("knows a type that nobody declared as itself, because a strategy may know it", () => {
    assert.equal(types.has("mailbox"), false);
    assert.deepEqual(types.get("mailbox").lineage, ["mailbox"]);
    assert.deepEqual(types.get("mailbox").capabilities, ["read", "write", "sandbox", "checkpoint"]);
  });
});
