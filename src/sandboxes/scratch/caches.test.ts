import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { CACHES_IN_HOME, cacheAround } from "./caches.ts";

it("a path is in a cache by whole names", () => {
  assert.equal(cacheAround("/home/me/.npm/x/y", "/home/me"), "/home/me/.npm");
  assert.equal(cacheAround("/home/me/.npmrc", "/home/me"), undefined);
  assert.equal(cacheAround("/home/me/.npm/x", undefined), undefined);
});

it("every cache is in the documentation", () => {
  const text = readFileSync(new URL("../../../docs/running.md", import.meta.url), "utf8");
  for (const name of CACHES_IN_HOME) assert.ok(text.includes(`\`${name}\``), name);
});
