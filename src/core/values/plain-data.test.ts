import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { copyPlain } from "./plain-data.ts";

describe("copyPlain", () => {
  it("copies what survives JSON exactly, and leaves out what is undefined", () => {
    const given = {
      a: [1, "two", null, { b: false }],
      c: undefined,
      d: Object.assign(Object.create(null), { e: -0.5 }),
    };
    const copy = copyPlain(given, 1_000) as { a: unknown[] };
    assert.deepEqual(copy, { a: [1, "two", null, { b: false }], d: { e: -0.5 } });
    assert.notEqual(copy.a, given.a);
    assert.equal(Object.getPrototypeOf((copy as unknown as { d: object }).d), Object.prototype);
  });

  for (const [what, value, why] of [
    ["a function", { a: [() => 1] }, /^it\.a\[0\] is a function$/],
    ["a date", { at: new Date(0) }, /^it\.at is a Date$/],
    ["a map", new Map(), /^it is a Map$/],
    ["bytes", { a: new Uint8Array(1) }, /^it\.a is a Uint8Array$/],
    ["a bigint", 1n, /^it is a bigint$/],
    ["a number that is none", { a: Number.POSITIVE_INFINITY }, /^it\.a is Infinity$/],
    ["nothing in a list", [undefined], /^it\[0\] is undefined$/],
    ["a prototype in disguise", JSON.parse('{"__proto__": {"a": 1}}'), /member called __proto__/],
    ["more than is kept", { a: "x".repeat(1_000) }, /larger than anything that is kept/],
  ] as const)
    it(`refuses ${what}, and says where it is`, () => {
      assert.throws(() => copyPlain(value, 1_000), { message: why });
    });

  it("refuses what holds itself", () => {
    const self: { self?: unknown } = {};
    self.self = self;
    assert.throws(() => copyPlain(self, 1_000_000), /nested too deeply, or holds itself/);
  });
});
