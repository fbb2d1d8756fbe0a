import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rightsOf, ruleset } from "./landlock-rights.ts";

const EXECUTE = 1n << 0n;
const WRITE = 1n << 1n;
const READ = 1n << 2n;
const TRUNCATE = 1n << 14n;
const IOCTL = 1n << 15n;

describe("The rules for Landlock", () => {
  it("[W2] handle what each version of the kernel knows, in a structure that it knows", () => {
    const handled = (version: number) => ruleset(version).readBigUInt64LE(0);
    // Everything but reading a folder, which no rule refuses.
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 7].map((version) => handled(version).toString(16)),
      ["1ff7", "3ff7", "7ff7", "7ff7", "fff7", "fff7", "fff7"],
    );
    assert.deepEqual(
      [1, 3, 4, 5, 6, 7].map((version) => ruleset(version).length),
      [8, 8, 16, 16, 24, 24],
    );
    assert.equal(ruleset(6).readBigUInt64LE(16), 3n);
  });

  it("[W2] allow no device to be made, and of a file only what a file has", () => {
    const all = rightsOf("write", true, 7);
    for (const device of [6n, 11n, 15n]) assert.equal(all & (1n << device), 0n);
    assert.equal(rightsOf("write", false, 7), EXECUTE | WRITE | READ | TRUNCATE);
    assert.equal(rightsOf("write", false, 2), EXECUTE | WRITE | READ);
    assert.equal(rightsOf("read", true, 7), EXECUTE | READ);
    assert.equal(rightsOf("device", false, 7), WRITE | READ | TRUNCATE | IOCTL);
  });
});
