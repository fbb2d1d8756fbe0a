import type { Folder } from "../../system/calls/folder.ts";
import { walkFrom } from "./walk.ts";

/** The sum of the sizes of all files of an entry. Skips mount points, and what refuses us. */
export function treeSize(parent: Folder, name: string): number {
  const mountId = parent.facts(name)?.mountId;
  let bytes = 0;
  const options = {
    skipsRefused: true,
    enters: ({ facts }: { readonly facts: { readonly mountId: number } }) => facts.mountId === mountId,
  };
  for (const { facts } of walkFrom(parent, name, options))
    if (facts.kind !== "directory" && facts.mountId === mountId) bytes += facts.size;
  return bytes;
}
