/**
 * Paths are bytes, carried in strings.
 *
 * A file name on Linux is any run of bytes but `/` and NUL; most are UTF-8, some are not. Inside Drydock, on the command line and in
 * JSON a path is a string in which a byte HH that is not part of valid UTF-8 stands as the lone surrogate U+DCHH. The mapping is
 * exact in both directions: no file name is lost, and `JSON.stringify` writes such a byte as `\udcHH`.
 * Strings become bytes only where a system call is made.
 */

/** The path of a resource's root, relative to itself. */
export const ROOT_PATH = ".";

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LONE_BYTE = /[\udc80-\udcff]/;

/** The string that stands for these bytes. */
export function pathFromBytes(bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return decodeWithLoneBytes(bytes);
  }
}

/** The bytes that this string stands for. */
export function bytesFromPath(path: string): Buffer {
  if (!LONE_BYTE.test(path)) return Buffer.from(path, "utf8");
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < path.length; at += 1) {
    const code = path.charCodeAt(at);
    if (isHighSurrogate(code) && isLowSurrogate(path.charCodeAt(at + 1))) {
      at += 1;
      continue;
    }
    if (code < 0xdc80 || code > 0xdcff) continue;
    parts.push(Buffer.from(path.slice(from, at), "utf8"), Buffer.of(code - 0xdc00));
    from = at + 1;
  }
  parts.push(Buffer.from(path.slice(from), "utf8"));
  return Buffer.concat(parts);
}

/** The path as a terminal may show it: control characters, lone bytes and backslashes escaped, on one line. */
export function displayPath(path: string): string {
  return path.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\\]|[\udc80-\udcff](?<![\ud800-\udbff].)/g, (char) => {
    const code = char.charCodeAt(0);
    if (char === "\\") return "\\\\";
    if (char === "\n") return "\\n";
    if (char === "\t") return "\\t";
    return code >= 0xdc80 && code <= 0xdcff
      ? `\\x${(code - 0xdc00).toString(16)}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** `parent/name`, where the parent may be the root. */
export function joinPath(parent: string, name: string): string {
  return parent === ROOT_PATH ? name : `${parent}/${name}`;
}

/** The folder that holds this path; the root's is the root. */
export function parentPath(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? ROOT_PATH : path.slice(0, slash);
}

/** The last name of this path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether `path` is `ancestor` or lies below it; both relative to the same root. */
export function isAtOrBelow(path: string, ancestor: string): boolean {
  return ancestor === ROOT_PATH || path === ancestor || path.startsWith(`${ancestor}/`);
}

/** Orders paths: a folder before what is in it, and that before whatever follows the folder. */
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

/** Takes the longest valid run at each place; what is in no valid run becomes a lone surrogate, byte by byte. */
function decodeWithLoneBytes(bytes: Uint8Array): string {
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    const length = validSequenceLength(bytes, at);
    if (length === 0) {
      text += String.fromCharCode(0xdc00 + (bytes[at] ?? 0));
      at += 1;
    } else {
      text += strictDecoder.decode(bytes.subarray(at, at + length));
      at += length;
    }
  }
  return text;
}

function validSequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  const length =
    lead < 0x80 ? 1 : lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  try {
    strictDecoder.decode(bytes.subarray(at, at + length));
    return length;
  } catch {
    return 0;
  }
}
