import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Facts, Time } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { takeBarrier } from "./barrier.ts";
import { forgetRestored, OwnTouches, restoredNames } from "./own-touches.ts";

class Ledger implements Disposable {
  readonly #root = mkdtempSync(join(tmpdir(), "drydock-touches-"));
  readonly original: Folder;
  readonly stateDir = join(this.#root, "state");

  constructor() {
    for (const name of ["original", "state", "workspace", "other"]) mkdirSync(join(this.#root, name));
    this.original = Folder.open(join(this.#root, "original"));
    writeFileSync(join(this.original.path, "file"), "content");
  }

  /** The touches of the original as a new process of this workspace's sandbox reads them. */
  touches(workspace = "workspace"): OwnTouches {
    return new OwnTouches(this.stateDir, this.original.path, Folder.open(join(this.#root, workspace)));
  }

  barrier(): Time {
    using folder = Folder.open(this.#root);
    return takeBarrier(folder);
  }

  get file(): Facts {
    return this.original.facts("file") as Facts;
  }

  /** Moves the file away and back, which only moves its change time. */
  touch(): void {
    const path = join(this.original.path, "file");
    renameSync(path, `${path}.away`);
    renameSync(`${path}.away`, path);
  }

  [Symbol.dispose](): void {
    this.original.close();
    rmSync(this.#root, { recursive: true });
  }
}

describe("the ledger of our own touches", () => {
  it("gives every plan the age from before a landing and its undo, through any number of them", () => {
    using ledger = new Ledger();
    const barrier = ledger.barrier();
    for (let round = 0; round < 3; round += 1) {
      const before = ledger.file;
      ledger.touch();
      assert.equal(ledger.touches("other").since(barrier).isSince(ledger.file), true, "not noted yet");
      // Recovery may note the same undo again.
      for (let again = 0; again < 2; again += 1)
        ledger.touches().noteRestored(ledger.original, [{ path: "file", before }]);
      assert.equal(ledger.touches("other").since(barrier).isSince(ledger.file), false);
      assert.equal(ledger.touches("other").sinceForAll(barrier).isSince(ledger.file), false);
    }
  });

  it("keeps the age of a change that another writer made before the landing", () => {
    using ledger = new Ledger();
    const barrier = ledger.barrier();
    writeFileSync(join(ledger.original.path, "file"), "theirs");
    const before = ledger.file;
    ledger.touch();
    ledger.touches().noteRestored(ledger.original, [{ path: "file", before }]);
    assert.equal(ledger.touches().since(barrier).isSince(ledger.file), true);
  });

  it("makes a landed part old for its own sandbox alone, also after a later undo brought it back", () => {
    using ledger = new Ledger();
    const barrier = ledger.barrier();
    ledger.touch();
    ledger.touches().noteLanded([ledger.file]);
    assert.equal(ledger.touches().since(barrier).isSince(ledger.file), false);
    assert.equal(ledger.touches().sinceForAll(barrier).isSince(ledger.file), true);
    assert.equal(ledger.touches("other").since(barrier).isSince(ledger.file), true);
    const before = ledger.file;
    ledger.touch();
    ledger.touches("other").noteRestored(ledger.original, [{ path: "file", before }]);
    assert.equal(ledger.touches().since(barrier).isSince(ledger.file), false);
    writeFileSync(join(ledger.original.path, "file"), "theirs");
    assert.equal(ledger.touches().since(barrier).isSince(ledger.file), true);
  });

  it("forgets what undos brought back when no plan needs it", () => {
    using ledger = new Ledger();
    const barrier = ledger.barrier();
    const before = ledger.file;
    ledger.touch();
    ledger.touches().noteRestored(ledger.original, [{ path: "file", before }]);
    const names = restoredNames(ledger.stateDir);
    assert.equal(names.length, 1);
    for (const name of names) forgetRestored(ledger.stateDir, name);
    assert.deepEqual(restoredNames(ledger.stateDir), []);
    assert.equal(ledger.touches().since(barrier).isSince(ledger.file), true);
  });
});
