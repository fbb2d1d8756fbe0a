import { systemCallError } from "./errno.ts";
import { type Facts, factsOfOpen } from "./facts.ts";
import type { Folder } from "./folder.ts";
import { closeFile } from "./handles.ts";
import { calls, lastErrno, PinnedBuffer, pathPointer } from "./native.ts";
import { O_CLOEXEC, O_PATH } from "./open-flags.ts";

/**
 * The name that a file system itself has for a file (name_to_handle_at). It does not depend on the path, and
 * no later file gets it. As text, "TYPE:BYTES", the bytes in hex.
 */
export type FileHandle = string;

const EOPNOTSUPP = 95;
const EOVERFLOW = 75;
const ESTALE = 116;
const MOST_BYTES = 128;

/**
 * struct file_handle: two 32-bit numbers, length and type, then the bytes. A mount id follows, which is not
 * used.
 */
let shared: { readonly buffer: PinnedBuffer; readonly words: Int32Array } | undefined;

function handleBuffer(): { readonly buffer: PinnedBuffer; readonly words: Int32Array } {
  if (shared === undefined) {
    const buffer = new PinnedBuffer(8 + MOST_BYTES + 8);
    shared = { buffer, words: new Int32Array(buffer.bytes.buffer, buffer.bytes.byteOffset, 2) };
  }
  return shared;
}

/** The handle of a name in this folder; undefined if the name is gone, or the file system has no handles. */
export function handleOf(folder: Folder, name: string): FileHandle | undefined {
  const { buffer, words } = handleBuffer();
  words[0] = MOST_BYTES;
  const { address, bytes } = buffer;
  if (calls.nameToHandleAt(folder.fd, pathPointer(name), address, address + 8 + MOST_BYTES, 0) === 0)
    return `${words[1]}:${bytes.toString("hex", 8, 8 + (words[0] as number))}`;
  const errno = lastErrno();
  if (errno === EOPNOTSUPP || errno === EOVERFLOW || errno === 2) return undefined;
  throw systemCallError(errno, "name_to_handle_at", folder.label(name));
}

/**
 * The facts of the file with this handle on the file system of this folder; undefined if it is gone. Root
 * only.
 */
export function factsOfHandle(folder: Folder, handle: FileHandle): Facts | undefined {
  const { buffer, words } = handleBuffer();
  const [type = "0", hex = ""] = handle.split(":");
  words[0] = hex.length / 2;
  words[1] = Number(type);
  buffer.bytes.write(hex, 8, "hex");
  const fd = calls.openByHandleAt(folder.fd, buffer.address, O_PATH | O_CLOEXEC);
  if (fd < 0) {
    const errno = lastErrno();
    if (errno === ESTALE || errno === 2) return undefined;
    throw systemCallError(errno, "open_by_handle_at", folder.path);
  }
  try {
    const facts = factsOfOpen(fd, folder.path);
    return facts.nlink === 0 ? undefined : facts;
  } finally {
    closeFile(fd);
  }
}
