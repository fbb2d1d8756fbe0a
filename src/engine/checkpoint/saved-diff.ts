import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type BaseFacts, NO_TIME } from "../base/base-facts.ts";
import type { Baseline } from "../base/baseline.ts";
import type { ChangeSet } from "../changes/change-set.ts";
import { ChangeSetBuilder } from "../changes/change-set-builder.ts";
import type { TreeDiffOptions } from "../changes/tree-diff.ts";
import { changedParts, type Metadata } from "../tree/metadata.ts";
import { walkFrom } from "../tree/walk.ts";
import type { Steps } from "../work/pace.ts";
import { basePaths } from "./restore-plan.ts";
import type { SavedChanges } from "./saved-changes.ts";

const NOTHING: ReadonlySet<string> = new Set();

/**
 * The differences that a checkpoint of a copied tree holds, as a diff showed them then. Costs what the
 * checkpoint has, and not what the tree has. `copies` are its entries, and `baseline` is that of its time.
 */
export function* diffSavedChanges(
  { entries }: SavedChanges,
  copies: Folder,
  baseline: Baseline,
  hasBaseContent: TreeDiffOptions["hasBaseContent"],
): Steps<ChangeSet> {
  const replaced = new Set(
    entries.filter(({ operation }) => operation === "replace").map(({ path }) => path),
  );
  const builder = new ChangeSetBuilder({
    hasBaseContent: ({ path, base, now }) => hasBaseContent(path, now.folder, now.name, base.facts),
    isOther: ({ path }) => replaced.has(path),
  });
  const base = (path: string) => {
    const index = baseline.find(path);
    return index === undefined ? undefined : { facts: baseline.facts(index), first: baseline.copy(index) };
  };
  for (const { path: top, metadata } of entries) {
    const before = base(top);
    if (metadata !== undefined && before !== undefined) {
      builder.change(top, "modified", metadataSides(before, metadata));
      continue;
    }
    const seen = new Set<string>();
    for (const { path, parent: folder, name, facts } of walkFrom(copies, top)) {
      seen.add(path);
      builder.compare(path, base(path), { folder, name, facts })[Symbol.dispose]();
      yield 1;
    }
    for (const path of basePaths(baseline, top, NOTHING)) {
      if (!seen.has(path)) builder.compare(path, base(path), undefined)[Symbol.dispose]();
      yield 1;
    }
  }
  return builder.result();
}

/** An entry of which only the metadata changed. The checkpoint has no copy of it. */
function metadataSides(
  {
    facts: before,
    first,
  }: { readonly facts: BaseFacts; readonly first: Pick<Metadata, "mode" | "uid" | "gid"> },
  { xattrs, ...metadata }: Metadata,
) {
  const after: Facts = {
    ...{ ...before, ...metadata, ctime: NO_TIME, atime: metadata.mtime },
    ...{ rdev: before.rdev ?? "", mountId: 0, device: "", locked: false },
  };
  const changed = changedParts(first, before, { facts: after, xattrs });
  const parts = before.kind === "directory" ? changed.filter((part) => part !== "mtime") : changed;
  return { before, after, xattrs, parts };
}
