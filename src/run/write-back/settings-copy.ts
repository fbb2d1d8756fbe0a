import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { writeBytes } from "../../system/data/file-data.ts";
import { flushFile } from "../../system/data/whole-file.ts";
import type { Failpoint } from "../../system/failpoints.ts";

/** Settings are small. */
export const MOST_BYTES = 64 * 1024 * 1024;

export interface SettingsCopy {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
  /** Its owner, if it is not this process's. */
  readonly owner?: Pick<Facts, "uid" | "gid">;
}

/** Makes a flushed file, to be moved to its place. Returns what it is then. */
export function makeCopy(
  point: Failpoint,
  folder: Folder,
  { name, bytes, mode, owner }: SettingsCopy,
): Facts {
  const fd = folder.createFile(point, name, 0o600);
  try {
    writeBytes(point, fd, bytes, folder.label(name));
    if (owner !== undefined) folder.setOwner(point, name, owner.uid, owner.gid);
    folder.setMode(point, name, mode & 0o777);
    flushFile(point, fd);
  } finally {
    closeFile(fd);
  }
  return folder.facts(name) as Facts;
}
