import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { PreparedCommit, Transaction } from "../../src/core/strategy.ts";
import { readManifest, wholeManifest } from "../../src/engine/manifest/stored-manifest.ts";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";
import { Folder } from "../../src/system/calls/folder.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { buildRichTree, changeRichTree } from "../support/rich-tree.ts";
import { contextIn } from "../support/strategy-context.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

const LANDED: Transaction = { id: "01LANDED", planId: "01HZZZZZZZZZZZZZZZZZZZZZZZ", direction: "commit" };

describe("What Drydock 0.1.0 left", () => {
  // Came from: the manifest of a landing became two files, one of which is read as a stream.
  it("[A18] can still be undone", async () => {
    const base = mkdtempSync(join(tmpdir(), "drydock-earlier-"));
    try {
      const [location, stateDir] = [join(base, "original"), join(base, "state")];
      for (const folder of [location, stateDir]) mkdirSync(folder);
      buildRichTree(location);
      const before = snapshotTree(location);
      const strategy = new FilesystemCopyStrategy(contextIn(stateDir));
      const resource = { id: "r", name: "original", type: "fs-directory", location, properties: {} };
      const ref = await strategy.create(LANDED.planId, resource);
      changeRichTree(await strategy.path(ref));
      const prepared = await strategy.prepare(ref, LANDED);
      assert.ok(prepared !== null);
      await strategy.commitPrepared(ref, LANDED, prepared);
      assert.notDeepEqual(snapshotTree(location), before);

      const old = asVersion1(join(stateDir, "sandboxes", ref.sandboxId, "landings", LANDED.id), prepared);
      const undo: Transaction = {
        id: "01UNDO",
        planId: LANDED.planId,
        direction: "undo",
        undoes: { id: LANDED.id, prepared: old },
      };
      const back = await strategy.prepare(ref, undo);
      assert.ok(back !== null);
      assert.deepEqual((await strategy.commitPrepared(ref, undo, back)).attention, []);
      assertSameTree(snapshotTree(location), before, "the original");
    } finally {
      removeFolder(base);
    }
  });
});

/** Writes a landing's manifest as version 1 had it: one text. */
function asVersion1(path: string, prepared: PreparedCommit): PreparedCommit {
  using landing = Folder.open(path);
  const manifest = readManifest(landing, String(prepared.data["digest"]));
  assert.ok(manifest !== undefined);
  const text = JSON.stringify({ ...wholeManifest(manifest), version: 1 });
  rmSync(join(path, "entries"));
  writeFileSync(join(path, "manifest"), text);
  return { ...prepared, data: { ...prepared.data, digest: createHash("sha256").update(text).digest("hex") } };
}
