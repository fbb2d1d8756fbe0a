import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import type { DiffView } from "../../src/core/change.ts";
import type { StrategyContext } from "../../src/core/strategy.ts";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";
import { snapshotTree } from "../../src/testing/tree-snapshot.ts";
import { assertSame, FolderPair } from "./folder-pair.ts";
import { runs } from "./property-runs.ts";
import { buildingOperations, operations } from "./tree-operations.ts";

describe("checkpoints of random work", () => {
  let parent = "";
  let plans = 0;

  before(() => {
    parent = mkdtempSync(join(tmpdir(), "drydock-checkpoints-"));
    mkdirSync(join(parent, "state"));
  });

  after(() => rmSync(parent, { recursive: true, force: true }));

  it("[C6] bring back exactly that state, and exactly that lands", async () => {
    const strategy = new FilesystemCopyStrategy(contextIn(join(parent, "state")));
    await fc.assert(
      fc.asyncProperty(buildingOperations(6), operations(8), operations(8), async (building, work, more) => {
        using folders = new FolderPair(parent);
        folders.perform([folders.original, folders.plain], building);
        plans += 1;
        const resource = {
          id: "r",
          name: "r",
          type: "fs-directory",
          location: folders.original,
          properties: {},
        };
        const ref = await strategy.create(`p${plans}`, resource);
        const path = await strategy.path(ref);
        folders.perform([path, folders.plain], work);
        const [saved, changes] = [snapshotTree(path), linesOf(await strategy.diff(ref))];
        await strategy.checkpoint(ref, "c1");
        folders.perform([path], more);
        await strategy.restoreCheckpoint(ref, "c1");
        assertSame(path, saved, "the sandbox is as it was at the checkpoint");
        assert.deepEqual(linesOf(await strategy.diff(ref)), changes);
        await strategy.commit(ref);
        assertSame(folders.original, snapshotTree(folders.plain), "the original is as the plain folder");
        await strategy.cleanup(ref);
      }),
      runs(40, 10),
    );
  });
});

function linesOf({ changes }: DiffView): string[] {
  return changes.map(({ operation, kind, path }) => `${operation} ${kind} ${path}`);
}

function contextIn(stateDir: string): StrategyContext {
  const nothing = () => undefined;
  return {
    stateDir,
    policy: { allowSetid: false, allowDevices: false },
    recordIntent: () => Promise.resolve(),
    failpoint: nothing,
    now: () => new Date(),
    progress: nothing,
    signal: new AbortController().signal,
  };
}
