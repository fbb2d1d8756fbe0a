/**
 * Paths are bytes, carried in strings.
 *
 * A file name on Linux is any run of bytes but `/` and NUL; most are UTF-8, some are not. Inside Drydock, on
 * the command line and in JSON a path is a string in which a byte HH that is not part of valid UTF-8 stands
 * as the lone surrogate U+DCHH. The mapping is exact in both directions: no file name is lost, and
 * `JSON.stringify` writes such a byte as `\udcHH`. Strings become bytes only where a system call is made.
 */
import { showInvisible } from "../values/invisible-characters.ts";

/** The path of a resource's root, relative to itself. */
export const ROOT_PATH = ".";

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LONE_BYTE = /[\udc80-\udcff]/;

/** The string for these bytes. */
export function pathFromBytes(bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return decodeWithLoneBytes(bytes);
  }
}

/** The bytes of this string. */
export function bytesFromPath(path: string): Buffer {
  if (!LONE_BYTE.test(path)) return Buffer.from(path, "utf8");
  // Each unit of the string takes at most three bytes.
  const bytes = Buffer.alloc(path.length * 3);
  let [from, length] = [0, 0];
  for (let at = 0; at < path.length; at += 1) {
    const code = path.charCodeAt(at);
    if (isHighSurrogate(code) && isLowSurrogate(path.charCodeAt(at + 1))) {
      at += 1;
      continue;
    }
    if (code < 0xdc80 || code > 0xdcff) continue;
    if (at > from) length += bytes.write(path.slice(from, at), length, "utf8");
    bytes[length] = code - 0xdc00;
    length += 1;
    from = at + 1;
  }
  length += bytes.write(path.slice(from), length, "utf8");
  return Buffer.from(bytes.subarray(0, length));
}

/** The path for a terminal, on one line: invisible characters, lone bytes and backslashes are escaped. */
export function displayPath(path: string): string {
  return showInvisible(path.replaceAll("\\", "\\\\"));
}

/** `parent/name`, where the parent may be the root. */
export function joinPath(parent: string, name: string): string {
  return parent === ROOT_PATH ? name : `${parent}/${name}`;
}

/** The folder that holds this path, relative or absolute; the root's is the root. */
export function parentPath(path: string): string {
  const slash = path.lastIndexOf("/");
  if (slash === 0) return "/";
  return slash < 0 ? ROOT_PATH : path.slice(0, slash);
}

/** The last name of this path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The folders above this path, the root first. */
export function foldersAbove(path: string): string[] {
  const above = parentPath(path);
  return above === ROOT_PATH ? [ROOT_PATH] : [...foldersAbove(above), above];
}

/** The path itself or the nearest folder above it that is in the set. */
export function nearest(paths: ReadonlySet<string>, path: string): string | undefined {
  for (let at = path; ; at = parentPath(at)) {
    if (paths.has(at)) return at;
    if (at === ROOT_PATH) return undefined;
  }
}

/** Whether `path` is `ancestor` or lies below it; both relative to the same root. */
export function isAtOrBelow(path: string, ancestor: string): boolean {
  return ancestor === ROOT_PATH || path === ancestor || path.startsWith(`${ancestor}/`);
}

/** Orders paths: a folder comes before its content, and its content before whatever follows the folder. */
export function comparePaths(a: string, b: string): number {
  if (a === b) return 0;
  if (a === ROOT_PATH) return -1;
  if (b === ROOT_PATH) return 1;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const SLASH = 47;

function rank(code: number): number {
  return code === SLASH ? 0 : code;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/**
 * Takes the longest valid run at each position; each byte outside of valid runs becomes a lone surrogate.
 */
function decodeWithLoneBytes(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = validRunEnd(bytes, at);
    if (end > at) parts.push(strictDecoder.decode(bytes.subarray(at, end)));
    if (end < bytes.length) parts.push(String.fromCharCode(0xdc00 + byteAt(bytes, end)));
    at = end + 1;
  }
  return parts.join("");
}

function validRunEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let length = 1; length > 0; at += length) length = validSequenceLength(bytes, at);
  return at;
}

/** The table of RFC 3629: first and last lead byte, length in bytes, least and greatest second byte. */
const SEQUENCES = [
  [0xc2, 0xdf, 2, 0x80, 0xbf],
  [0xe0, 0xe0, 3, 0xa0, 0xbf],
  [0xe1, 0xec, 3, 0x80, 0xbf],
  [0xed, 0xed, 3, 0x80, 0x9f],
  [0xee, 0xef, 3, 0x80, 0xbf],
  [0xf0, 0xf0, 4, 0x90, 0xbf],
  [0xf1, 0xf3, 4, 0x80, 0xbf],
  [0xf4, 0xf4, 4, 0x80, 0x8f],
] as const;

/** The length in bytes of the UTF-8 character here; 0 if there is none. */
function validSequenceLength(bytes: Uint8Array, at: number): number {
  const [lead, second] = [byteAt(bytes, at), byteAt(bytes, at + 1)];
  if (lead < 0x80) return at < bytes.length ? 1 : 0;
  const sequence = SEQUENCES.find(([first, last]) => lead >= first && lead <= last);
  if (sequence === undefined) return 0;
  const [, , length, least, most] = sequence;
  if (second < least || second > most) return 0;
  for (let more = 2; more < length; more += 1) if ((byteAt(bytes, at + more) & 0xc0) !== 0x80) return 0;
  return length;
}

/** The byte at this position; 0 beyond the end, which continues no character. */
function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}
