import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commentPlace } from "./comment-place.ts";

describe("commentPlace", () => {
  it("[I10] names a line, a change or a resource, and shows harmlessly what a command inside can make up", () => {
    assert.equal(commentPlace({}), undefined);
    assert.equal(commentPlace({ resource: "app", path: ".", line: 3 }), "app:3");
    assert.equal(commentPlace({ resource: "app", path: "a", line: 3, side: "before" }), "app/a:3 (before)");
    for (const place of [{ resource: "\u001b[2J" }, { resource: "\u001b[2J", path: "\r" }])
      assert.doesNotMatch(commentPlace(place) ?? "", /\p{Cc}/u);
  });
});
