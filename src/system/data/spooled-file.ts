import { constants, openSync } from "node:fs";
import { closeFile } from "../calls/handles.ts";
import { readBytes } from "./file-data.ts";

/** Opens a complete spool for reading, from its beginning. It has no name, so its path is one of /proc. */
export function openSpooled(path: string): number {
  return openSync(path, constants.O_RDONLY);
}

/** The whole content of a spool. */
export function readSpooled(path: string): Uint8Array {
  const fd = openSpooled(path);
  try {
    return readBytes(fd, path);
  } finally {
    closeFile(fd);
  }
}
