import { type Failpoint, failpoint } from "../system/failpoints.ts";
import { readBytes, writeBytes } from "../system/file-data.ts";
import { flushFile } from "../system/flush-file.ts";
import type { Folder } from "../system/folder.ts";
import { closeFile } from "../system/handles.ts";

const FLUSH = failpoint("record.flush");
const REPLACE = failpoint("record.replace");
const REMOVE_OLD = failpoint("record.remove-old");

/** The content of a file of our own, or undefined if it is not there. */
export function readSmallFile(folder: Folder, name: string): Buffer | undefined {
  if (folder.facts(name)?.kind !== "file") return undefined;
  const fd = folder.openFile(name);
  try {
    return readBytes(fd, folder.label(name));
  } finally {
    closeFile(fd);
  }
}

/** What a file of our own says; undefined if a power cut left it empty or cut off, which is as good as not there. */
export function parsed<T>(bytes: Uint8Array): T | undefined {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as T;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/**
 * Writes a file of our own, whole or not at all: the old one stays until the new one is complete. Flushing is the caller's; but a power cut before that may
 * leave neither, unless what is in the new one is `flushed` before it takes the place of the old.
 */
export function writeSmallFile(
  point: Failpoint,
  folder: Folder,
  name: string,
  bytes: Uint8Array,
  how: "buffered" | "flushed" = "buffered",
): void {
  const fresh = `${name}.new`;
  if (folder.facts(fresh) !== undefined) folder.removeFile(REMOVE_OLD, fresh);
  const fd = folder.createFile(point, fresh, 0o600);
  try {
    writeBytes(point, fd, bytes, folder.label(fresh));
    if (how === "flushed") flushFile(FLUSH, fd);
  } finally {
    closeFile(fd);
  }
  if (folder.facts(name) === undefined) {
    folder.move(REPLACE, fresh, folder, name);
    return;
  }
  folder.exchange(REPLACE, fresh, folder, name);
  folder.removeFile(REMOVE_OLD, fresh);
}
