import { pathFromBytes } from "../../core/paths/byte-path.ts";

/**
 * Addresses of servers that a plan holds databases of, in one form for each: what a command asks the kernel
 * for is compared with them. Pure.
 */

/** A server whose own addresses a command can't reach, because its plan holds a database there. */
export interface GuardedServer {
  /** The name of the resource. */
  readonly resource: string;
  /** In the form of `endpointKey`. */
  readonly endpoints: readonly string[];
  /** The paths of local sockets. */
  readonly sockets: readonly string[];
}

/** What a program connects to: a port of an address, or a local socket. */
type Destination = { readonly address: string; readonly port: number } | { readonly path: string };

/** Every address of this machine's loopback. */
const LOCAL = "local";
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const GROUPS = 8;
const MAPPED = "0:0:0:0:0:ffff:";

/** The form in which addresses are compared. */
export function endpointKey(address: string, port: number): string {
  return `${sameAddress(address)} ${port}`;
}

/** Where a `struct sockaddr` leads; undefined for what is no address of a server. */
export function destinationOf(bytes: Buffer): Destination | undefined {
  if (bytes.length < 2) return undefined;
  const family = bytes.readUInt16LE(0);
  if (family === AF_INET && bytes.length >= 8)
    return { address: [...bytes.subarray(4, 8)].join("."), port: bytes.readUInt16BE(2) };
  if (family === AF_INET6 && bytes.length >= 24) {
    const groups = Array.from({ length: GROUPS }, (_, at) => bytes.readUInt16BE(8 + 2 * at).toString(16));
    return { address: groups.join(":"), port: bytes.readUInt16BE(2) };
  }
  // A name that begins with a zero is in no file system.
  if (family !== AF_UNIX || bytes.length < 3 || bytes[2] === 0) return undefined;
  const end = bytes.indexOf(0, 2);
  return { path: pathFromBytes(bytes.subarray(2, end < 0 ? undefined : end)) };
}

/** All addresses of the loopback, and those that stand for it, are one. */
function sameAddress(address: string): string {
  const [plain = ""] = address.split("%", 1);
  const four = plain.includes(":") ? mappedAddress(sixGroups(plain)) : plain;
  if (/^127[.]|^0[.]0[.]0[.]0$|^(?:0:){7}[01]$/.test(four)) return LOCAL;
  return four;
}

/** IPv6 with nothing left out, in small letters. */
function sixGroups(address: string): string {
  const plain = address.toLowerCase().replace(/(\d+)[.](\d+)[.](\d+)[.](\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = [], tail = []] = plain.split("::").map((part) => part.split(":").filter(Boolean));
  const missing = Array.from({ length: Math.max(0, GROUPS - head.length - tail.length) }, () => "0");
  const groups = plain.includes("::") ? [...head, ...missing, ...tail] : head;
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":");
}

/** An address of IPv4 that is written as one of IPv6. */
function mappedAddress(groups: string): string {
  if (!groups.startsWith(MAPPED)) return groups;
  const [high = 0, low = 0] = groups
    .slice(MAPPED.length)
    .split(":")
    .map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
