import {
  type Change,
  type DiffView,
  diffViewOf,
  type ExactPart,
  type TakeChange,
} from "../../core/change.ts";
import { SandboxConflictError } from "../../core/errors/errors.ts";
import { nearest } from "../../core/paths/byte-path.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { TwoPhaseSandboxStrategy } from "../../core/strategy.ts";
import type { Inspectable, Mergeable, ProbeResult } from "../../core/strategy-abilities.ts";
import {
  DEFAULT_MERGE_POLICY,
  type Resolution,
  type ResolveReport,
  type UpdateReport,
} from "../../core/values/merge.ts";
import type { BaseFacts } from "../../engine/base/base-facts.ts";
import type { ChangeSet, TreeChange } from "../../engine/changes/change-set.ts";
import { withoutExcluded } from "../../engine/changes/exclusions.ts";
import type { Rows } from "../../engine/changes/rows.ts";
import { openSaved } from "../../engine/checkpoint/tree-checkpoints.ts";
import { BaseContents, type BasedPath } from "../../engine/merge/base-contents.ts";
import { MergeRecord } from "../../engine/merge/merge-record.ts";
import { type OpenSandbox, openPlaceOf, scopeFrom } from "../../engine/sandbox/sandbox-reference.ts";
import type { SandboxTree } from "../../engine/sandbox/sandbox-tree.ts";
import { type FileContent, readFileBelow } from "../../engine/sandbox/writing.ts";
import { isExcluded, toEnginePath, toResourcePath } from "../../engine/workspace/scope.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import type { BrowsedSandbox, Browsing } from "./browsing.ts";
import { LandingStrategy } from "./landing-strategy.ts";

/**
 * Implements the contract for all strategies of folders and files. Here is the work in the tree: reading,
 * writing, comparing, merging. A subclass makes and saves the tree, and gives programs access to it.
 */
export abstract class FolderStrategy<Tree extends SandboxTree>
  extends LandingStrategy<Tree>
  implements TwoPhaseSandboxStrategy, Mergeable, Inspectable
{
  readonly takeOver: Browsing["takeOver"] = async (...given) => (await this.browsing()).takeOver(...given);

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    using sandbox = await this.open(ref);
    return sandbox.tree.read(sandbox.original, sandbox.own, toEnginePath(sandbox.scope, path));
  }

  async readOriginal(ref: SandboxRef, path: string): Promise<Uint8Array | undefined> {
    using sandbox = await this.open(ref);
    return this.#before(sandbox, toEnginePath(sandbox.scope, path));
  }

  #before(sandbox: OpenSandbox<Tree>, path: string): Uint8Array | undefined {
    const base = sandbox.tree.baseLookup(sandbox.original)(path);
    if (base?.kind !== "file") return undefined;
    return this.baseContent(sandbox, path, base) ?? readFileBelow(sandbox.original, path);
  }

  async write(ref: SandboxRef, path: string, bytes: FileContent): Promise<Change> {
    const { writtenChange } = await import("../../engine/show/written-change.ts");
    using sandbox = await this.open(ref);
    const enginePath = toEnginePath(sandbox.scope, path);
    const { tree, original } = sandbox;
    const { before, after } = tree.write(original, sandbox.own, enginePath, bytes);
    if (before !== undefined)
      this.seen(sandbox, [{ path: enginePath, before: tree.baseLookup(original)(enginePath) }]);
    return writtenChange(toResourcePath(sandbox.scope, enginePath), before, after);
  }

  protected async browse<T>(
    ref: SandboxRef,
    purpose: "look" | "change",
    action: (sandbox: BrowsedSandbox) => T,
  ): Promise<T> {
    using sandbox = await this.open(ref);
    const { tree, original, own, scope } = sandbox;
    const inside = (path: string) => toEnginePath(scope, path);
    const isHidden = (path: string) => isExcluded(scope, path);
    return await tree.browse(original, own, purpose, (entries) => action({ entries, inside, isHidden }));
  }

  async diff(ref: SandboxRef, take?: TakeChange): Promise<DiffView> {
    using sandbox = await this.open(ref);
    const { changes } = await this.work.toEnd("comparing", sandbox.changes());
    this.seen(sandbox, changes);
    return diffViewOf(await this.#shown(sandbox, changes, sandbox.own), take);
  }

  async saved(ref: SandboxRef, checkpointId: string): Promise<readonly Change[]> {
    using sandbox = await this.open(ref);
    const saved = openSaved(sandbox.workspace, checkpointId);
    using entries = saved.entries;
    const found = await this.work.toEnd("comparing", sandbox.tree.diffSaved(sandbox.original, saved));
    return [...(await this.#shown(sandbox, withoutExcluded(found, sandbox.scope).changes, entries))];
  }

  async readSaved(ref: SandboxRef, path: string, checkpointId: string): Promise<Uint8Array | undefined> {
    using workspace = openPlaceOf(ref);
    using entries = openSaved(workspace, checkpointId).entries;
    const at = toEnginePath(scopeFrom(ref), path);
    return entries.factsBelow(at)?.kind === "file" ? readFileBelow(entries, at) : undefined;
  }

  /** The changes as people see them. `own` has the changed entries. */
  async #shown(
    { original, workspace, tree, scope }: OpenSandbox<Tree>,
    changes: Rows<TreeChange>,
    own: Folder,
  ): Promise<Iterable<Change>> {
    // Loaded late: neither an apply nor a command that changed nothing needs it.
    if (changes.length === 0) return [];
    const { shownChanges } = await import("../../engine/show/diff-view.ts");
    return shownChanges(changes, {
      tick: this.work.counter("reading", changes.length),
      original,
      sandbox: own,
      workspace,
      policy: this.context.policy,
      originalIsBase: (now, before) => tree.age.isStillBase(now, before),
      mapPath: (path) => toResourcePath(scope, path),
    });
  }

  async probe(_resource: Resource): Promise<ProbeResult> {
    return { works: true };
  }

  async keepBases(ref: SandboxRef): Promise<void> {
    // Without its original, a sandbox has nothing to keep.
    if (!isThere(scopeFrom(ref).root)) return;
    using sandbox = await this.open(ref);
    this.seen(sandbox, await this.basedPaths(sandbox));
  }

  async update(ref: SandboxRef): Promise<UpdateReport> {
    const { updateTree } = await import("../../engine/merge/tree-update.ts");
    const { Git } = await import("../../system/process/git.ts");
    const { environment = {}, git } = this.context;
    try {
      using sandbox = await this.openFrozen(ref);
      this.seen(sandbox, await this.basedPaths(sandbox));
      const report = await updateTree(sandbox, {
        git: new Git(environment, git?.limitMilliseconds),
        mostBytes: this.#keepBytes,
        record: new MergeRecord(sandbox.workspace),
        kept: this.#kept(sandbox.workspace),
        baseContent: (path, base) => this.baseContent(sandbox, path, base),
      });
      // What another writer made is the base now, and can change once more.
      this.seen(sandbox, await this.basedPaths(sandbox));
      const shown = (path: string) => toResourcePath(sandbox.scope, path);
      return {
        merged: report.merged.map(shown),
        marked: report.marked.map(shown),
        unmerged: report.unmerged.map(({ path, why }) => ({ path: shown(path), why })),
      };
    } finally {
      await this.afterUse(ref);
    }
  }

  async resolve(ref: SandboxRef, path: string, how: Resolution, suffix: string): Promise<ResolveReport> {
    const { resolvePath } = await import("../../engine/merge/resolving.ts");
    try {
      using sandbox = await this.openFrozen(ref);
      const asked = { path: toEnginePath(sandbox.scope, path), how, suffix };
      const { beside } = await resolvePath(sandbox, new MergeRecord(sandbox.workspace), asked);
      return { path, ...(beside !== undefined && { beside: toResourcePath(sandbox.scope, beside) }) };
    } finally {
      await this.afterUse(ref);
    }
  }

  async takeOut(ref: SandboxRef, { paths, hunks = {} }: ExactPart): Promise<void> {
    const { takeOutOf } = await import("../../engine/merge/taking-out.ts");
    try {
      using sandbox = await this.openFrozen(ref);
      const inside = (path: string) => toEnginePath(sandbox.scope, path);
      const part = {
        paths: paths.map(inside),
        hunks: Object.fromEntries(Object.entries(hunks).map(([path, ids]) => [inside(path), ids])),
      };
      await takeOutOf(sandbox, part, new MergeRecord(sandbox.workspace), (path) =>
        this.#before(sandbox, path),
      );
    } finally {
      await this.afterUse(ref);
    }
  }

  /** The changed paths of a sandbox, with their bases. */
  protected async basedPaths(sandbox: OpenSandbox<Tree>): Promise<Iterable<BasedPath>> {
    return (await this.work.toEnd("comparing", sandbox.changes())).changes;
  }

  protected override seen(sandbox: OpenSandbox<Tree>, paths: Iterable<BasedPath>): void {
    const { age } = sandbox.tree;
    this.#kept(sandbox.workspace).keep(paths, sandbox.original, (now, base) => age.isStillBase(now, base));
  }

  /** The content of a file when the sandbox began; undefined if it was not kept. */
  protected baseContent({ workspace }: OpenSandbox<Tree>, path: string, base: BaseFacts): Buffer | undefined {
    return this.#kept(workspace).read(path, base);
  }

  protected override async assertResolved(sandbox: OpenSandbox<Tree>, { entries }: ChangeSet): Promise<void> {
    const record = new MergeRecord(sandbox.workspace);
    if (record.marked.length === 0) return;
    const { stillMarked } = await import("../../engine/merge/marked-files.ts");
    const landing = new Set(Iterator.from(entries).map(({ path }) => path));
    const conflicts = stillMarked(sandbox, record)
      .filter((path) => nearest(landing, path) !== undefined)
      .map((path) => ({
        path: toResourcePath(sandbox.scope, path),
        why: "it still has the conflict markers of an update",
      }));
    if (conflicts.length === 0) return;
    const more = conflicts.length > 1 ? ` and ${conflicts.length - 1} more` : "";
    throw new SandboxConflictError(conflicts, {
      message: `There are still conflict markers of an update in ${conflicts[0]?.path}${more}.`,
    });
  }

  #kept(workspace: Folder): BaseContents {
    return new BaseContents(workspace, this.#keepBytes);
  }

  get #keepBytes(): number {
    return (this.context.merge ?? DEFAULT_MERGE_POLICY).keepBytes;
  }
}
