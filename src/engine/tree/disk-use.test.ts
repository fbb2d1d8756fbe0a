import assert from "node:assert/strict";
import { linkSync, mkdirSync, mkdtempSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { removeFolder } from "../../../test/support/remove-folder.ts";
import { Folder } from "../../system/calls/folder.ts";
import { diskUse } from "./disk-use.ts";

const MEGABYTE = 1 << 20;

/** A folder with the folders one and two. */
function sample() {
  const path = mkdtempSync(join(tmpdir(), "drydock-disk-use-"));
  for (const name of ["one/deep", "two"]) mkdirSync(join(path, name), { recursive: true });
  return {
    path,
    /** Of both, rounded down. */
    megabytes: () => {
      using folder = Folder.open(path);
      const steps = diskUse(folder, ["one", "two", "missing"]);
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      return Math.floor(step.value / MEGABYTE);
    },
    [Symbol.dispose]: () => removeFolder(path),
  };
}

describe("diskUse", () => {
  it("adds up what is on disk in all folders, however deep", () => {
    using tree = sample();
    writeFileSync(join(tree.path, "one/deep/file"), Buffer.alloc(3 * MEGABYTE, 1));
    writeFileSync(join(tree.path, "two/file"), Buffer.alloc(2 * MEGABYTE, 1));
    assert.equal(tree.megabytes(), 5);
  });

  it("counts a file with several names once, and holes not at all", () => {
    using tree = sample();
    writeFileSync(join(tree.path, "one/file"), Buffer.alloc(3 * MEGABYTE, 1));
    linkSync(join(tree.path, "one/file"), join(tree.path, "two/other"));
    writeFileSync(join(tree.path, "two/hole"), "");
    truncateSync(join(tree.path, "two/hole"), 1000 * MEGABYTE);
    assert.equal(tree.megabytes(), 3);
  });

  it("says in between how much it is so far", () => {
    using tree = sample();
    for (let at = 0; at < 1000; at += 1) writeFileSync(join(tree.path, `one/${at}`), "x");
    using folder = Folder.open(tree.path);
    const between = [...diskUse(folder, ["one"])];
    assert.ok(between.length >= 4);
    assert.deepEqual(
      between,
      between.toSorted((a, b) => a - b),
    );
    assert.ok((between[0] ?? 0) > 0);
  });
});
