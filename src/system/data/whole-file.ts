import { fsyncSync } from "node:fs";
import type { Folder } from "../calls/folder.ts";
import { closeFile } from "../calls/handles.ts";
import { type Failpoint, failpoint, passFailpoint } from "../failpoints.ts";
import { readBytes, writeBytes } from "./file-data.ts";

/**
 * Files of Drydock's own that are read and written whole: records, notes, marks.
 *
 * A write makes these steps, so that the name always stands for all of the old content or all of the new:
 * 1. Remove `NAME.new`, if a crash left one, and create it with mode 0600.
 * 2. Write the content into it. From "flushed" on, flush the content.
 * 3. Give it the name: by a rename, or by an exchange if an old file has the name and the new content is only
 *    buffered.
 * 4. After an exchange, remove `NAME.new`, which is the old file now.
 * 5. For "durable", flush the folder.
 *
 * Two processes must not write the same name at once: the caller holds a claim, or the lock of the folder
 * (lock.ts).
 */
const POINTS = {
  flush: failpoint("record.flush"),
  replace: failpoint("record.replace"),
  removeOld: failpoint("record.remove-old"),
};

/**
 * What a power cut leaves:
 * - `buffered`: until the caller flushes, the old content, the new, or an empty or cut-off file.
 * - `flushed`: until the caller flushes, the old content or the new.
 * - `durable`: the new content, once the write has returned.
 */
export type Durability = "buffered" | "flushed" | "durable";

/** The content of a file of Drydock's own; undefined if it is missing. */
export function readWhole(folder: Folder, name: string): Buffer | undefined {
  if (folder.facts(name)?.kind !== "file") return undefined;
  const fd = folder.openFile(name);
  try {
    return readBytes(fd, folder.label(name));
  } finally {
    closeFile(fd);
  }
}

/**
 * The value in a file of Drydock's own; undefined if a power cut left it empty or cut off, which counts as
 * missing.
 */
export function parsed<T>(bytes: Uint8Array): T | undefined {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as T;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** Replaces the content of a file atomically. A failure before step 3 changes nothing. */
export function writeWhole(
  point: Failpoint,
  folder: Folder,
  name: string,
  bytes: Uint8Array,
  how: Durability = "buffered",
): void {
  const fresh = `${name}.new`;
  if (folder.facts(fresh) !== undefined) folder.removeFile(POINTS.removeOld, fresh);
  create(point, { folder, name: fresh, mode: 0o600 }, (fd) => {
    writeBytes(point, fd, bytes, folder.label(fresh));
    if (how !== "buffered") flushFile(POINTS.flush, fd);
  });
  if (how === "buffered" && folder.facts(name) !== undefined) {
    // A rename over the old file would make ext4 write the buffered content out, which takes ten times as
    // long.
    if (folder.replaceByExchange(POINTS.replace, fresh, folder, name))
      folder.removeFile(POINTS.removeOld, fresh);
  } else {
    // A plain rename, because the file system of the state directory may support no other.
    folder.replace(POINTS.replace, fresh, folder, name);
  }
  if (how === "durable") flushFile(POINTS.flush, folder.fd);
}

/** Creates a file of Drydock's own under a name that no other process uses, and flushes nothing. */
export function createOwn(point: Failpoint, folder: Folder, name: string, bytes: Uint8Array): void {
  create(point, { folder, name, mode: 0o600 }, (fd) => writeBytes(point, fd, bytes, folder.label(name)));
}

/** Creates a file for the user. Fails with EEXIST if anything has the name, even a dangling link. */
export function createWhole(point: Failpoint, folder: Folder, name: string, text: string): void {
  create(point, { folder, name, mode: 0o644 }, (fd) => {
    writeBytes(point, fd, Buffer.from(text), folder.label(name));
    flushFile(POINTS.flush, fd);
  });
}

/** Removes the file again if it can't be filled. */
function create(
  point: Failpoint,
  { folder, name, mode }: { readonly folder: Folder; readonly name: string; readonly mode: number },
  fill: (fd: number) => void,
): void {
  const fd = folder.createFile(point, name, mode);
  try {
    fill(fd);
  } catch (thrown) {
    folder.removeFile(POINTS.removeOld, name);
    throw thrown;
  } finally {
    closeFile(fd);
  }
}

/** Makes the content of an open file durable, or the names in an open folder. */
export function flushFile(point: Failpoint, fd: number): void {
  if (passFailpoint(point) !== "skip") fsyncSync(fd);
}
