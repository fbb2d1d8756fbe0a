import { type MetadataPart, metadataOf, sameParts } from "../../../engine/tree/metadata.ts";
import type { NamedEntry } from "../../../engine/tree/named-entry.ts";
import { sameFileContent } from "../../../engine/tree/same-entry.ts";
import type { Facts } from "../../../system/calls/facts.ts";

/** An entry with its facts. */
export interface NamedFacts extends NamedEntry {
  readonly facts: Facts;
}

const PARTS: readonly MetadataPart[] = ["owner", "xattrs", "mode", "mtime"];

/** Whether two entries that are no folders have the same kind and content. */
export function sameLeaf(a: NamedFacts, b: NamedFacts): boolean {
  const { kind, size, rdev } = a.facts;
  if (kind !== b.facts.kind) return false;
  if (kind === "file") return size === b.facts.size && sameFileContent(a.folder, a.name, b.folder, b.name);
  if (kind === "symlink") return a.folder.readLink(a.name) === b.folder.readLink(b.name);
  return rdev === b.facts.rdev;
}

/** Whether two entries of one kind have the same metadata. */
export function sameMetadata(a: NamedFacts, b: NamedFacts): boolean {
  const parts = a.facts.kind === "symlink" ? PARTS.filter((part) => part !== "mode") : PARTS;
  return sameParts(metadataOf(a.folder, a.name, a.facts), metadataOf(b.folder, b.name, b.facts), parts);
}
