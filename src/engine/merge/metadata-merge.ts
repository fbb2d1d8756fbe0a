import type { BaseFacts } from "../base/base-facts.ts";
import { type Metadata, type MetadataPart, sameParts } from "../tree/metadata.ts";

/** What of the other writer's metadata the sandbox takes; or the part that both changed. */
export type MergedMetadata =
  | { readonly wanted: Metadata; readonly parts: readonly MetadataPart[] }
  | { readonly clash: MetadataPart };

/** Without privilege, no user can give a file to another. */
const parts = (): readonly MetadataPart[] =>
  process.geteuid?.() === 0 ? ["owner", "xattrs", "mode"] : ["xattrs", "mode"];

/**
 * Merges the metadata of a file, part by part. The time of the file is that of the merge. Where the base had
 * no file, the plan's metadata stays.
 */
export function mergeMetadata(
  before: BaseFacts | undefined,
  ours: Metadata,
  theirs: Metadata,
): MergedMetadata {
  if (before === undefined) return { wanted: ours, parts: [] };
  const taken: MetadataPart[] = [];
  for (const part of parts()) {
    if (sameParts(theirs, before, [part]) || sameParts(theirs, ours, [part])) continue;
    if (!sameParts(ours, before, [part])) return { clash: part };
    taken.push(part);
  }
  const { mode, xattrs, uid, gid } = theirs;
  const wanted = {
    mode: taken.includes("mode") ? mode : ours.mode,
    xattrs: taken.includes("xattrs") ? xattrs : ours.xattrs,
    ...(taken.includes("owner") ? { uid, gid } : { uid: ours.uid, gid: ours.gid }),
    mtime: ours.mtime,
  };
  return { wanted, parts: taken };
}
