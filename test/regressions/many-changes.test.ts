import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { letterbox, reversible, Workshop } from "../commit/workshop.ts";

/** More than a call can have arguments. */
const MANY = 200_000;

describe("A diff with very many changes", () => {
  // Came from: all changes of a resource were handed on as the arguments of one call, which overflowed the
  // stack.
  it("[D1] shows all of them", async () => {
    await using workshop = new Workshop();
    const strategy = reversible({ changes: MANY });
    const drydock = await workshop.open([strategy]);
    const { id } = await drydock.plans.create({ resources: [letterbox("mail", strategy.name)] });
    const { changes, digest } = await drydock.plans.diff(id);
    assert.deepEqual([changes.length, changes.at(-1)?.path], [MANY, `letter-${MANY - 1}`]);
    assert.equal((await drydock.plans.diff(id)).digest, digest);
  });
});
