import { isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import type { MemoryEntry } from "../../system/launch/memory-entries.ts";
import type { ViewStep } from "../launch/launch-spec.ts";

/** One mount of a view, and how to make it. Of several at the same path, later ones cover earlier ones. */
export interface ViewMount {
  readonly at: string;
  readonly steps: readonly ViewStep[];
  /** Whether the mount is a file, mounted on a file. */
  readonly isFile?: boolean;
  /** Whether a command can make, move and remove names in it. */
  readonly isWritable?: boolean;
  /** Whether it shows nothing of the host. */
  readonly isEmpty?: boolean;
  /** Paths of the host that it does not show. */
  readonly missing?: readonly string[];
}

/** A path of the host that is shown as it is, or what is shown in its place. */
export interface HostBind {
  readonly at: string;
  /** The path of what is shown in its place. */
  readonly from?: string;
  readonly isFile: boolean;
  /** Whether commands change it for good. */
  readonly isWritable: boolean;
  /** Whether its sockets lead to their processes although it is read-only. */
  readonly keepsSockets?: true;
}

/** A small file of the host, with its content as base64. */
export interface HostFile {
  readonly at: string;
  readonly content: string;
}

/**
 * An empty read-only folder that covers `at`, which is there. It has a name for each mount point and each
 * file in it.
 */
export function emptyCover(at: string, mounts: readonly ViewMount[], files: readonly HostFile[]): ViewMount {
  return { at, steps: [{ step: "memory", at, entries: coverEntries(at, mounts, files) }] };
}

/** The same where `at` may be missing, or of another kind than on the host: in a sandbox. */
export function coverIfThere(
  at: string,
  mounts: readonly ViewMount[],
  files: readonly HostFile[],
): ViewMount {
  return { at, steps: [{ step: "cover", at, entries: coverEntries(at, mounts, files) }] };
}

function coverEntries(
  at: string,
  mounts: readonly ViewMount[],
  files: readonly HostFile[],
): readonly MemoryEntry[] {
  const entries = new Map<string, MemoryEntry>();
  const add = (entry: MemoryEntry) => entries.set(entry.path, entry);
  const addParents = (path: string) => {
    for (const folder of ancestorsBetween(at, path))
      add({ kind: "folder", path: folder.slice(at.length + 1) });
  };
  for (const mount of mounts.filter((other) => isStrictlyBelow(other.at, at))) {
    addParents(mount.at);
    add({ kind: mount.isFile ? "file" : "folder", path: mount.at.slice(at.length + 1) });
  }
  for (const file of files.filter((other) => isStrictlyBelow(other.at, at))) {
    addParents(file.at);
    add({ kind: "file", path: file.at.slice(at.length + 1), content: file.content });
  }
  return [...entries.values()].toSorted((a, b) => a.path.length - b.path.length);
}

/** A file that looks empty. */
export function coverFile(at: string): ViewMount {
  return { at, isFile: true, steps: [{ step: "bind", at, from: "/dev/null", flags: { readOnly: true } }] };
}

/** The folders strictly between two paths, the outermost first. */
export function ancestorsBetween(above: string, below: string): readonly string[] {
  const folders: string[] = [];
  for (let at = parentPath(below); isStrictlyBelow(at, above); at = parentPath(at)) folders.unshift(at);
  return folders;
}

export function isStrictlyBelow(path: string, ancestor: string): boolean {
  return path !== ancestor && isAtOrBelow(path, ancestor);
}
