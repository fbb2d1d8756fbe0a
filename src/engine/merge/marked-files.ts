import type { OpenSandbox } from "../sandbox/sandbox-reference.ts";
import type { SandboxTree } from "../sandbox/sandbox-tree.ts";
import { readEntry } from "../tree/open-parent.ts";
import type { MergeRecord } from "./merge-record.ts";
import { hasMarkers } from "./text-merge.ts";

type Marked = OpenSandbox<SandboxTree>;

/** The marked files of a sandbox that still have their markers. */
export function stillMarked(sandbox: Marked, record: MergeRecord): readonly string[] {
  return record.marked.filter((path) => isMarked(sandbox, record, path));
}

/** Whether an update marked this file, and its markers are still there. */
export function isMarked({ tree, original, own }: Marked, record: MergeRecord, path: string): boolean {
  if (!record.marked.includes(path)) return false;
  const isFile = readEntry(own, path, (_, __, { kind }) => kind === "file") === true;
  return isFile && hasMarkers(tree.read(original, own, path));
}
