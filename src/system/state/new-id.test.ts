import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newId } from "./new-id.ts";

describe("newId", () => {
  it("gives identifiers that differ, also when very many are made", () => {
    const ids = Array.from({ length: 5000 }, newId);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  it("uses every character in its random part", () => {
    const characters = new Set(Array.from({ length: 500 }, () => [...newId().slice(10)]).flat());
    assert.equal(characters.size, 32);
  });

  it("gives later ones that sort later", async () => {
    const first = newId();
    await new Promise((resolve) => setTimeout(resolve, 3));
    assert.ok(newId() > first);
  });
});
