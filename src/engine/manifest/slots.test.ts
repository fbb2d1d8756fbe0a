import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { StateError } from "../../core/errors/errors.ts";
import { Folder } from "../../system/calls/folder.ts";
import { Slots, slotName } from "./slots.ts";

describe("the slots of a landing", () => {
  let path: string;
  let landing: Folder;
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), "drydock-slots-"));
    landing = Folder.open(path);
  });
  afterEach(() => {
    landing.close();
    rmSync(path, { recursive: true, force: true });
  });

  it("have a folder for as many as asked for, none with more names than can be found quickly", () => {
    using slots = Slots.make(landing, 1000);
    for (let slot = 0; slot < 1000; slot += 1)
      writeFileSync(join(slots.in(slot).path, slotName(slot)), `${slot}`);
    const names = readdirSync(join(path, "slots"));
    assert.ok(names.every((name) => readdirSync(join(path, "slots", name)).length <= 64));
    assert.deepEqual(
      slots.numbers().sort((a, b) => a - b),
      Array.from({ length: 1000 }, (_, slot) => slot),
    );
  });

  it("are known by their number, in any order, and where their label says", () => {
    using slots = Slots.make(landing, 200);
    for (const slot of [150, 3, 199, 4]) {
      assert.equal(slots.facts(slot), undefined);
      writeFileSync(join(slots.in(slot).path, slotName(slot)), "x".repeat(slot));
      assert.equal(slots.facts(slot)?.size, slot);
      assert.ok(existsSync(slots.label(slot)));
    }
    assert.deepEqual(
      slots.numbers().sort((a, b) => a - b),
      [3, 4, 150, 199],
    );
    assert.equal([...slots.folders()].length, 1 + 4);
  });

  it("are made again over what an earlier try left", () => {
    Slots.make(landing, 65)[Symbol.dispose]();
    using slots = Slots.make(landing, 65);
    assert.deepEqual(slots.numbers(), []);
  });

  it("hold nothing where a staging did not come that far, and say so where a landing needs them", () => {
    assert.equal(Slots.openIfThere(landing), undefined);
    Slots.make(landing, 1)[Symbol.dispose]();
    using slots = Slots.open(landing);
    assert.equal(slots.facts(64), undefined);
    assert.throws(() => slots.in(64), StateError);
  });
});
