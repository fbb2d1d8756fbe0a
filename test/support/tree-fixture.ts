import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "node:test";
import {
  baseName,
  bytesFromPath,
  displayPath,
  parentPath,
  pathFromBytes,
} from "../../src/core/paths/byte-path.ts";
import type { BaseFacts } from "../../src/engine/base/base-facts.ts";
import { Baseline } from "../../src/engine/base/baseline.ts";
import { BaselineBuilder } from "../../src/engine/base/baseline-builder.ts";
import type { ChangeSet, TreeChange } from "../../src/engine/changes/change-set.ts";
import { diffTree } from "../../src/engine/changes/tree-diff.ts";
import { type CopyOptions, copyTree } from "../../src/engine/tree/copy-tree.ts";
import { sameFileContent } from "../../src/engine/tree/same-entry.ts";
import { runAtOnce } from "../../src/engine/work/pace.ts";
import type { Facts } from "../../src/system/calls/facts.ts";
import { Folder } from "../../src/system/calls/folder.ts";
import { failpoint } from "../../src/system/failpoints.ts";

const POINT = failpoint("test.fixture");

/** A name that is not UTF-8, with a line break in it. */
export const ODD_NAME = pathFromBytes(Buffer.from([0x61, 0xff, 0x0a, 0x62]));
/** The reason to skip a test that only root can run. */
export const NEEDS_ROOT = process.getuid?.() === 0 ? false : "needs root";

/** Two real folders: an original, and a sandbox that is made as a copy of it with its baseline. */
export class TreeFixture {
  #trees: { readonly root: string; readonly original: Folder; readonly sandbox: Folder } | undefined;
  #baseline: Buffer | undefined;

  /** New folders for each test of the file. */
  static forEachTest(): TreeFixture {
    const trees = new TreeFixture();
    beforeEach(() => trees.make());
    afterEach(() => trees.remove());
    return trees;
  }

  make(): void {
    const root = mkdtempSync(join(tmpdir(), "drydock-trees-"));
    for (const name of ["original", "sandbox"]) mkdirSync(join(root, name));
    const [original, sandbox] = [Folder.open(join(root, "original")), Folder.open(join(root, "sandbox"))];
    this.#trees = { root, original, sandbox };
    this.#baseline = undefined;
  }

  get root(): string {
    return this.#made.root;
  }

  get original(): Folder {
    return this.#made.original;
  }

  get sandbox(): Folder {
    return this.#made.sandbox;
  }

  get #made() {
    if (this.#trees === undefined) throw new Error("the folders are made before each test");
    return this.#trees;
  }

  /** A path in the original for calls of Node, which takes bytes where a name is not UTF-8. */
  inOriginal(path: string): Buffer {
    return bytesFromPath(join(this.root, "original", path));
  }

  inSandbox(path: string): Buffer {
    return bytesFromPath(join(this.root, "sandbox", path));
  }

  /** Copies the original into the sandbox. The baseline goes through its file format, as it does in life. */
  copy(options: CopyOptions = { data: "share" }): void {
    const builder = new BaselineBuilder();
    runAtOnce(copyTree(this.original, this.sandbox, { ...options, onCopied: (entry) => builder.add(entry) }));
    this.#baseline = builder.finish((path) => this.facts("sandbox", path)).toBytes();
  }

  get baseline(): Baseline {
    if (this.#baseline === undefined) throw new Error("nothing has been copied yet");
    return Baseline.fromBytes(this.#baseline, "fixture");
  }

  facts(side: "original" | "sandbox", path: string): Facts | undefined {
    using parent = this[side].openBelowIfThere(parentPath(path));
    return parent?.facts(baseName(path));
  }

  /** Gives an entry of the sandbox exactly this modification time. */
  setTime(path: string, mtime: Facts["mtime"]): void {
    using parent = this.sandbox.openBelow(parentPath(path));
    parent.setTimes(POINT, baseName(path), { mtime });
  }

  diff(only?: string, tick?: (entries: number) => void): ChangeSet {
    const steps = diffTree(this.sandbox, this.baseline, {
      hasBaseContent: (path, folder, name) => {
        using parent = this.original.openBelow(parentPath(path));
        return sameFileContent(parent, baseName(path), folder, name);
      },
      ...(only !== undefined && { only }),
    });
    return runAtOnce(steps, tick);
  }

  /** Whether the original at this path was not touched since it was copied. */
  originalIsBase(now: Facts | undefined, before: BaseFacts): boolean {
    return now !== undefined && now.ino === before.ino && now.ctime.join() === before.ctime?.join();
  }

  /**
   * The changes as a list to compare: "modified file a/b", with what of its metadata changed if that is all.
   */
  changes(only?: string, tick?: (entries: number) => void): string[] {
    return Array.from(this.diff(only, tick).changes, describeChange);
  }

  remove(): void {
    this.original.close();
    this.sandbox.close();
    // Read-only folders keep what is in them, but for root.
    spawnSync("chmod", ["-R", "u+rwx", this.root]);
    rmSync(this.root, { recursive: true, force: true });
  }
}

function describeChange({ path, operation, before, after, parts }: TreeChange): string {
  const kind = operation === "typechanged" ? `${before?.kind} to ${after?.kind}` : (after ?? before)?.kind;
  return [operation, kind, displayPath(path), ...(parts === undefined ? [] : [`(${parts.join(", ")})`])].join(
    " ",
  );
}
