import type { Folder } from "./folder.ts";
import { AT_SYMLINK_NOFOLLOW, calls, lastErrno, PinnedBuffer, pathPointer, wordsOf } from "./native.ts";

/**
 * The system calls that read attributes of a name in an open folder. Links are not followed. Results are
 * those of the calls: a length, or -1 with errno.
 *
 * Linux 6.13 has calls for exactly that. On older kernels, and where a filter of system calls does not know
 * them yet, the path goes through the folder's handle in /proc, which takes five times as long.
 */
const SYS_GETXATTRAT = 464;
const SYS_LISTXATTRAT = 465;
const EPERM = 1;
const ENOSYS = 38;

let known: boolean | undefined;

/** Asks once, with the attributes of the folder itself, which every user may read. */
function knowsCalls(folder: Folder): boolean {
  if (known === undefined) {
    const result = calls.listxattrat(SYS_LISTXATTRAT, folder.fd, pathPointer("."), AT_SYMLINK_NOFOLLOW, 0, 0);
    known = result >= 0 || (lastErrno() !== ENOSYS && lastErrno() !== EPERM);
  }
  return known;
}

/** Writes the names of all attributes to the buffer, each ending with NUL. */
export function listInto(folder: Folder, name: string, { address, bytes }: PinnedBuffer): number {
  if (!knowsCalls(folder)) return calls.llistxattr(pathThroughHandle(folder, name), address, bytes.length);
  const path = pathPointer(name);
  return calls.listxattrat(SYS_LISTXATTRAT, folder.fd, path, AT_SYMLINK_NOFOLLOW, address, bytes.length);
}

/** Writes the value of one attribute to the buffer. */
export function getInto(folder: Folder, name: string, key: string, { address, bytes }: PinnedBuffer): number {
  const keyPointer = pathPointer(key, 1);
  if (!knowsCalls(folder))
    return calls.lgetxattr(pathThroughHandle(folder, name), keyPointer, address, bytes.length);
  const { buffer, words } = valueArguments();
  words[0] = address % 0x1_0000_0000;
  words[1] = Math.floor(address / 0x1_0000_0000);
  words[2] = bytes.length;
  const path = pathPointer(name);
  return calls.getxattrat(
    SYS_GETXATTRAT,
    folder.fd,
    path,
    AT_SYMLINK_NOFOLLOW,
    keyPointer,
    buffer.address,
    16,
  );
}

/** The path goes through the folder's own handle, so that no link on the way is followed. */
export function pathThroughHandle(folder: Folder, name: string): number {
  return pathPointer(`/proc/self/fd/${folder.fd}/${name}`);
}

let shared: { readonly buffer: PinnedBuffer; readonly words: Uint32Array } | undefined;

/** struct xattr_args: address of the value, 64 bits; its size, 32; flags, 32. */
function valueArguments(): { readonly buffer: PinnedBuffer; readonly words: Uint32Array } {
  if (shared === undefined) {
    const buffer = new PinnedBuffer(16);
    shared = { buffer, words: wordsOf(buffer).fill(0) };
  }
  return shared;
}
