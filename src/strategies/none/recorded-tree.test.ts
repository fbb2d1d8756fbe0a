import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { Folder } from "../../system/calls/folder.ts";
import { RecordedTree } from "./recorded-tree.ts";

describe("a recorded tree", () => {
  let base = "";

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "drydock-recorded-"));
    for (const folder of ["original", "state"]) mkdirSync(join(base, folder));
  });

  afterEach(() => rmSync(base, { recursive: true, force: true }));

  for (const name of ["plain", "new\nline", "\udcff\udc80"])
    it(`removes a file of ours that a crash left in ${JSON.stringify(name)}`, () => {
      const tree = new RecordedTree(join(base, "state"), "sandbox");
      mkdirSync(bytesFromPath(join(base, "original", name)));
      tree.noteTemporary(`${name}/temporary`);
      writeFileSync(bytesFromPath(join(base, "original", name, "temporary")), "half");
      using original = Folder.open(join(base, "original"));
      tree.removeTemporary(original);
      assert.deepEqual(readdirSync(bytesFromPath(join(base, "original", name))), []);
    });
});
