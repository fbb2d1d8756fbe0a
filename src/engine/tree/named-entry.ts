import type { Folder } from "../../system/calls/folder.ts";

/** A name in an open folder, with or without an entry. */
export interface NamedEntry {
  readonly folder: Folder;
  readonly name: string;
}
