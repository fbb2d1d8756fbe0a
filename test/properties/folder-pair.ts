import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Loss } from "../../src/core/capabilities.ts";
import { SystemCallError } from "../../src/core/errors/errors.ts";
import { OWN_NAME } from "../../src/engine/workspace/workspace.ts";
import { compareSnapshots, snapshotTree, type TreeSnapshot } from "../../src/testing/tree/tree-snapshot.ts";
import { WorkTree } from "../../src/testing/tree/work-tree.ts";
import { removeWithSubvolumes } from "../support/subvolumes.ts";
import { type Operation, perform, REPOSITORY } from "./tree-operations.ts";

/** An original, and a plain folder beside it to which the same is done. */
export class FolderPair {
  readonly #base: string;
  readonly original: string;
  readonly plain: string;
  readonly #losses: readonly Loss[];
  #era = 0;

  /**
   * `losses`: what the strategy can't keep, so that the plain folder does without it too, or it is not
   * compared. `makeOriginal` makes an empty original.
   */
  constructor(
    parent = tmpdir(),
    losses: readonly Loss[] = [],
    makeOriginal: (path: string) => void = mkdirSync,
  ) {
    this.#losses = losses;
    this.#base = mkdtempSync(join(parent, "drydock-property-"));
    this.original = join(this.#base, "original");
    this.plain = join(this.#base, "plain");
    makeOriginal(this.original);
    mkdirSync(this.plain);
  }

  /** Does the same in these folders. */
  perform(paths: readonly string[], operations: readonly Operation[]): void {
    for (const path of paths) {
      using tree = new WorkTree(path, this.#era, {
        copiesFolders: this.#losses.includes("folder-renames"),
      });
      // So that the root's own time does not depend on when the folder was made.
      if (this.#era === 0) tree.setTime(".", [1_400_000_000, 1]);
      perform(tree, operations, this.#losses);
    }
    this.#era += 1;
  }

  snapshot(): TreeSnapshot {
    return snapshotOf(this.original);
  }

  /** The original is equal to this in every attribute, but for what is lost. */
  assertOriginal(expected: TreeSnapshot, message: string, losses: readonly Loss[] = []): void {
    assert.deepEqual(compareSnapshots(this.snapshot(), expected, losses), [], message);
  }

  [Symbol.dispose](): void {
    removeWithSubvolumes(this.#base);
  }
}

/**
 * Does the same in a sandbox and in the plain folder; returns what the sandbox has to be then. Where programs
 * see otherwise than in a plain folder, that is what they saw; and what they could not do at all is not
 * tried.
 */
export function performAndSee(
  folders: FolderPair,
  sandbox: string,
  work: readonly Operation[],
  seesOtherwise: boolean,
): TreeSnapshot {
  if (!seesOtherwise) {
    folders.perform([sandbox, folders.plain], work);
    return snapshotOf(folders.plain);
  }
  try {
    folders.perform([sandbox], work);
    return snapshotOf(sandbox);
  } catch (thrown) {
    if (thrown instanceof SystemCallError) fc.pre(false);
    throw thrown;
  }
}

/** Both folders are equal in every attribute, but for what is lost. */
export function assertSame(
  actual: string,
  expected: TreeSnapshot,
  message: string,
  losses: readonly Loss[] = [],
): void {
  assert.deepEqual(compareSnapshots(snapshotOf(actual), expected, losses), [], message);
}

/** What is in a folder, without a workspace or a repository in it, which is nobody's work. */
export function snapshotOf(path: string): TreeSnapshot {
  return snapshotTree(path, (name) => OWN_NAME.test(name) || name === REPOSITORY);
}
