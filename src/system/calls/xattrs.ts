import { pathFromBytes } from "../../core/paths/byte-path.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { failedWith, systemCallError } from "./errno.ts";
import type { Folder } from "./folder.ts";
import {
  AT_SYMLINK_NOFOLLOW,
  calls,
  check,
  lastErrno,
  PinnedBuffer,
  pathPointer,
  wordsOf,
} from "./native.ts";
import { opensUp } from "./shown-modes.ts";

/**
 * Extended attributes: the user's own, ACLs (system.posix_acl_*), file capabilities and labels (security.*),
 * and trusted.* when privileged. Values are base64, so that a set of them is plain data. Keys are sorted.
 */
export type Xattrs = { readonly [name: string]: string };

const EACCES = 13;
const ENODATA = 61;
const ERANGE = 34;
const EOPNOTSUPP = 95;
let listBuffer: PinnedBuffer | undefined;
let valueBuffer: PinnedBuffer | undefined;
const NONE: Xattrs = Object.freeze({});
const NO_NAMES: readonly string[] = Object.freeze([]);

/** The marks of overlays describe how layers are stacked. They are not data of the user. */
const MARK = /^(?:(?:trusted|user)\.overlay|user\.fuseoverlayfs|user\.containers)\./;

export function readXattrs(folder: Folder, name: string): Xattrs {
  return readThose(folder, name, (key) => !MARK.test(key));
}

/** Only the marks that an overlay has put on an entry of one of its layers. */
export function readLayerMarks(folder: Folder, name: string): Xattrs {
  return readThose(folder, name, (key) => MARK.test(key));
}

/** One such mark, if the entry has it. */
export function readLayerMark(folder: Folder, name: string, key: string): string | undefined {
  return readXattr(folder, name, key)?.toString("base64");
}

/** The attributes of an entry, including the marks of overlays. */
export function readXattrsAndMarks(folder: Folder, name: string): Xattrs {
  return readThose(folder, name, () => true);
}

function readThose(folder: Folder, name: string, isWanted: (key: string) => boolean): Xattrs {
  const names = listXattrs(folder, name);
  if (names.length === 0) return NONE;
  const values: { [name: string]: string } = {};
  for (const key of names.filter(isWanted).sort()) {
    const value = readXattr(folder, name, key);
    if (value !== undefined) values[key] = value.toString("base64");
  }
  return values;
}

/**
 * The attributes of an open file in this folder. Asking the descriptor first whether there are any is faster
 * than a lookup in the folder.
 */
export function readXattrsOfOpen(fd: number, folder: Folder, name: string): Xattrs {
  return calls.flistxattr(fd, 0, 0) === 0 ? NONE : readXattrs(folder, name);
}

export function sameXattrs(a: Xattrs, b: Xattrs): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/**
 * Gives an entry exactly these attributes, given those it has now. Returns the ones that this user may not
 * set or remove.
 */
export function writeXattrs(
  point: Failpoint,
  folder: Folder,
  name: string,
  wanted: Xattrs,
  present: Xattrs,
): string[] {
  const refused: string[] = [];
  for (const key of Object.keys(present)) {
    if (!(key in wanted)) attempt(refused, key, () => removeXattr(point, folder, name, key));
  }
  for (const [key, value] of Object.entries(wanted)) {
    if (present[key] !== value)
      attempt(refused, key, () => setXattr(point, folder, name, [key, Buffer.from(value, "base64")]));
  }
  return refused;
}

/** Sets these attributes on an open file until one is refused. Returns whether all are set. */
export function takesXattrs(point: Failpoint, fd: number, xattrs: Xattrs): boolean {
  passFailpoint(point);
  return Object.entries(xattrs).every(([key, text]) => {
    const value = Buffer.from(text, "base64");
    return calls.fsetxattr(fd, pathPointer(key), value, value.length, 0) === 0;
  });
}

function attempt(refused: string[], key: string, action: () => void): void {
  try {
    action();
  } catch (thrown) {
    if (!failedWith(thrown, "EPERM", "EOPNOTSUPP", "ENOTSUP")) throw thrown;
    refused.push(key);
  }
}

function setXattr(
  point: Failpoint,
  folder: Folder,
  name: string,
  [key, value]: readonly [key: string, value: Buffer],
): void {
  passFailpoint(point);
  const [path, keyPointer] = pointers(folder, name, key);
  check(
    calls.lsetxattr(path, keyPointer, value, value.length, 0),
    "setxattr",
    `${folder.label(name)} (${key})`,
  );
}

function removeXattr(point: Failpoint, folder: Folder, name: string, key: string): void {
  passFailpoint(point);
  const [path, keyPointer] = pointers(folder, name, key);
  const result = calls.lremovexattr(path, keyPointer);
  if (result < 0 && lastErrno() !== ENODATA)
    throw systemCallError(lastErrno(), "removexattr", `${folder.label(name)} (${key})`);
}

function pointers(folder: Folder, name: string, key: string): [path: number, key: number] {
  return [pathThroughHandle(folder, name), pathPointer(key, 1)];
}

function listXattrs(folder: Folder, name: string): readonly string[] {
  listBuffer ??= new PinnedBuffer(4096);
  for (;;) {
    const length = listInto(folder, name, listBuffer);
    if (length === 0) return NO_NAMES;
    if (length > 0) return splitNames(listBuffer.bytes.subarray(0, length));
    const errno = lastErrno();
    if (errno === EOPNOTSUPP) return NO_NAMES;
    if (errno === EACCES && opensUp(folder.fd)) continue;
    if (errno !== ERANGE) throw systemCallError(errno, "listxattr", folder.label(name));
    listBuffer = new PinnedBuffer(listBuffer.bytes.length * 4);
  }
}

function splitNames(bytes: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at);
    names.push(pathFromBytes(bytes.subarray(at, end)));
    at = end + 1;
  }
  return names;
}

/** The value; valid until the next one is read. */
function readXattr(folder: Folder, name: string, key: string): Buffer | undefined {
  valueBuffer ??= new PinnedBuffer(4096);
  for (;;) {
    const length = getInto(folder, name, key, valueBuffer);
    if (length >= 0) return valueBuffer.bytes.subarray(0, length);
    const errno = lastErrno();
    if (errno === ENODATA || errno === EOPNOTSUPP) return undefined;
    if (errno === EACCES && opensUp(folder.fd, name)) continue;
    if (errno !== ERANGE) throw systemCallError(errno, "getxattr", `${folder.label(name)} (${key})`);
    valueBuffer = new PinnedBuffer(valueBuffer.bytes.length * 4);
  }
}

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
function listInto(folder: Folder, name: string, { address, bytes }: PinnedBuffer): number {
  if (!knowsCalls(folder)) return calls.llistxattr(pathThroughHandle(folder, name), address, bytes.length);
  const path = pathPointer(name);
  return calls.listxattrat(SYS_LISTXATTRAT, folder.fd, path, AT_SYMLINK_NOFOLLOW, address, bytes.length);
}

/** Writes the value of one attribute to the buffer. */
function getInto(folder: Folder, name: string, key: string, { address, bytes }: PinnedBuffer): number {
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
function pathThroughHandle(folder: Folder, name: string): number {
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
