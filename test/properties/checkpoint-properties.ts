import assert from "node:assert/strict";
import fc from "fast-check";
import { ulid } from "ulid";
import { type Loss, withDefaults } from "../../src/core/capabilities.ts";
import type { DiffView } from "../../src/core/change.ts";
import type { SandboxStrategy } from "../../src/core/strategy.ts";
import { assertSame, FolderPair, performAndSee } from "./folder-pair.ts";
import { assertInTime } from "./property-runs.ts";
import { buildingOperations, type OperationName, operations } from "./tree-operations.ts";

/** A strategy for folders. */
type FolderStrategy = SandboxStrategy & Required<Pick<SandboxStrategy, "path">>;

export interface CheckpointTrial {
  readonly parent: string;
  readonly count: number;
  readonly seconds: number;
  /** Operations that it is not tried with. */
  readonly without?: { readonly building: readonly OperationName[]; readonly work: readonly OperationName[] };
  /** As of a subject (landing-properties.ts). */
  readonly seesOtherwise?: boolean;
  readonly makeOriginal?: (path: string) => void;
  readonly settle?: (path: string) => void;
}

/** A checkpoint of random work brings back exactly that state, and exactly that lands. */
export async function tryCheckpoints(strategy: FolderStrategy, trial: CheckpointTrial): Promise<void> {
  const losses: readonly Loss[] = withDefaults(strategy.capabilities).loses;
  const { building, work: avoided } = trial.without ?? { building: [], work: [] };
  const seesOtherwise = trial.seesOtherwise === true;
  await assertInTime(
    fc.asyncProperty(
      buildingOperations(6, building),
      operations(8, avoided),
      operations(8, avoided),
      async (built, work, more) => {
        using folders = new FolderPair(trial.parent, losses, trial.makeOriginal);
        folders.perform([folders.original, folders.plain], built);
        trial.settle?.(folders.original);
        const resource = {
          id: "r",
          name: "r",
          type: "fs-directory",
          location: folders.original,
          properties: {},
        };
        const ref = await strategy.create(ulid(), resource);
        try {
          const saved = performAndSee(folders, String(await strategy.path(ref)), work, seesOtherwise);
          const changes = linesOf(await strategy.diff(ref));
          await strategy.checkpoint(ref, "c1");
          performAndSee(folders, String(await strategy.path(ref)), more, seesOtherwise);
          await strategy.restoreCheckpoint(ref, "c1");
          assertSame(
            String(await strategy.path(ref)),
            saved,
            "the sandbox is as it was at the checkpoint",
            losses,
          );
          assert.deepEqual(linesOf(await strategy.diff(ref)), changes);
          await strategy.commit(ref);
          folders.assertOriginal(saved, "the original is as it has to be", losses);
        } finally {
          await strategy.cleanup(ref);
        }
      },
    ),
    trial.count,
    trial.seconds,
  );
}

function linesOf({ changes }: DiffView): string[] {
  return changes.map(({ operation, kind, path }) => `${operation} ${kind} ${path}`);
}
