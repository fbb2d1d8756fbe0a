import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { ulid } from "ulid";
import type { LastCheckpoint } from "../../src/core/checkpoint.ts";
import type { SandboxStrategy } from "../../src/core/strategy.ts";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";
import { snapshotTree, type TreeSnapshot } from "../../src/testing/tree/tree-snapshot.ts";
import { contextIn } from "../support/strategy-context.ts";
import { assertSame, FolderPair } from "./folder-pair.ts";
import { assertInTime } from "./property-runs.ts";
import { buildingOperations, operations } from "./tree-operations.ts";

interface Saved {
  readonly id: string;
  readonly tree: TreeSnapshot;
  readonly changes: string;
}

/** Which of two names that are one file now is the new one, nobody can tell. */
async function seen(strategy: SandboxStrategy, ref: Parameters<SandboxStrategy["diff"]>[0]): Promise<string> {
  return (await strategy.diff(ref)).changes
    .map(({ operation, kind, path }) => `${operation} ${kind} ${path}`)
    .join("\n");
}

describe("sequences of checkpoints and restores of random work", () => {
  let parent = "";

  before(() => {
    parent = mkdtempSync(join(tmpdir(), "drydock-checkpoint-sequences-"));
    mkdirSync(join(parent, "state"));
  });

  after(() => rmSync(parent, { recursive: true, force: true }));

  it("[C6] bring back each state exactly, forth and back, and the last one lands", async () => {
    const strategy = new FilesystemCopyStrategy(contextIn(join(parent, "state")));
    const step = fc.record({ work: operations(5, []), save: fc.boolean(), restore: fc.option(fc.nat()) });
    await assertInTime(
      fc.asyncProperty(
        buildingOperations(8, []),
        fc.array(step, { minLength: 2, maxLength: 6 }),
        async (built, steps) => {
          using folders = new FolderPair(parent);
          folders.perform([folders.original], built);
          const resource = {
            id: "r",
            name: "r",
            type: "fs-directory",
            location: folders.original,
            properties: {},
          };
          const ref = await strategy.create(ulid(), resource);
          try {
            const path = await strategy.path(ref);
            const all: Saved[] = [];
            let last: LastCheckpoint | undefined;
            for (const { work, save, restore } of steps) {
              folders.perform([path], work);
              if (save) {
                const id = `c${all.length}`;
                const { mark, isSame } = await strategy.checkpoint(ref, id, last);
                const saved = {
                  id: isSame === true ? (last?.id ?? id) : id,
                  tree: snapshotTree(path),
                  changes: await seen(strategy, ref),
                };
                all.push(saved);
                last = mark === undefined ? undefined : { id: saved.id, mark };
              }
              const wanted = restore === null ? undefined : all[restore % Math.max(all.length, 1)];
              if (wanted === undefined) continue;
              await strategy.restoreCheckpoint(ref, wanted.id);
              assertSame(path, wanted.tree, `the state of ${wanted.id}`);
              assert.equal(await seen(strategy, ref), wanted.changes);
            }
            const end = snapshotTree(path);
            await strategy.commit(ref);
            folders.assertOriginal(end, "the original is as the sandbox was");
          } finally {
            await strategy.cleanup(ref);
          }
        },
      ),
      20,
      8,
    );
  });
});
