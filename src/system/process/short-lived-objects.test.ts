import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cachedDataVersionTag } from "node:v8";
import { ShortLivedObjects } from "./short-lived-objects.ts";

describe("ShortLivedObjects", () => {
  it("changes V8's settings for large work only, and puts them back", () => {
    const before = cachedDataVersionTag();
    {
      using objects = new ShortLivedObjects();
      objects.expect(999);
      assert.equal(cachedDataVersionTag(), before, "small work");
      objects.expect(1_000);
      assert.notEqual(cachedDataVersionTag(), before, "large work");
    }
    assert.equal(cachedDataVersionTag(), before, "afterwards");
  });
});
