import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { isOpenForWriting } from "../../system/data/file-data.ts";

/** Whether a process has this file open for writing, or mapped. */
export function isWritten(parent: Folder, name: string): boolean {
  const fd = parent.openFile(name);
  try {
    return isOpenForWriting(fd);
  } finally {
    closeFile(fd);
  }
}
