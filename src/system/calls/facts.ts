import { readFileSync, statfsSync } from "node:fs";
import { systemCallError } from "./errno.ts";
import {
  AT_EMPTY_PATH,
  AT_SYMLINK_NOFOLLOW,
  calls,
  check,
  keepingPaths,
  lastErrno,
  PinnedBuffer,
  pathPointer,
  wordsOf,
} from "./native.ts";
import { opensUp, showTruth } from "./shown-modes.ts";

/**
 * What the kernel says about one entry (statx). A link is not followed.
 *
 * Times are seconds and nanoseconds as two numbers: exact, comparable and plain. Inode numbers keep their low
 * 53 bits; the bits above only tell the layer of an overlay that a file is from.
 */
export interface Facts {
  readonly kind: EntryKind;
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly nlink: number;
  readonly ino: number;
  readonly mtime: Time;
  readonly ctime: Time;
  readonly btime: Time;
  readonly atime: Time;
  /** Device number of a device node, "major:minor". */
  readonly rdev: string;
  readonly mountId: number;
  /**
   * The file system, "major:minor". Compare it only within one moment: btrfs gets another one after a
   * remount.
   */
  readonly device: string;
  /** Immutable or append-only. */
  readonly locked: boolean;
}

export type EntryKind = "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "block-device";

/** Whether the device number (`rdev`) of entries of this kind has a meaning. */
export function isDevice(kind: EntryKind): boolean {
  return kind === "device" || kind === "block-device";
}

/** Seconds and nanoseconds since 1970. */
export type Time = readonly [seconds: number, nanoseconds: number];

/**
 * Identifies an entry across renames and remounts. The inode number alone does not: once the entry is gone,
 * ext4 gives its number to the next new one. So compare both with anything seen earlier. Names that exist at
 * the same moment are one file if their numbers are equal.
 */
export interface Identity {
  readonly ino: number;
  readonly btime: Time;
}

const S_IFMT = 0o170000;
const KINDS: { readonly [type: number]: EntryKind } = {
  0o100000: "file",
  0o040000: "directory",
  0o120000: "symlink",
  0o010000: "fifo",
  0o140000: "socket",
  0o020000: "device",
  0o060000: "block-device",
};

const STATX_BASIC_STATS_BTIME_MNT = 0x7ff | 0x800 | 0x1000;
const AT_STATX_DONT_SYNC = 0x4000;
const AT_STATX_FORCE_SYNC = 0x2000;
const TIME_WORDS = 3;
const STATX_ATTR_IMMUTABLE_OR_APPEND = 0x10 | 0x20;

const ENOENT = 2;
const EACCES = 13;

let statBuffer: PinnedBuffer | undefined;
let words: Uint32Array = new Uint32Array(0);

/**
 * Asks the kernel for the facts of `name` in `folder`; the name is already at this address. Leaves them in
 * the shared buffer; -1 on failure. Opens a folder that refuses us, if there is a door (closed-entries.ts).
 */
export function statInto(folder: number, namePointer: number, flags = AT_SYMLINK_NOFOLLOW): number {
  let result = statRaw(folder, namePointer, flags);
  if (result < 0 && lastErrno() === EACCES && keepingPaths(() => opensUp(folder)))
    result = statRaw(folder, namePointer, flags);
  if (result === 0) showTruth(words);
  return result;
}

/**
 * The kernel's answer for a descriptor, without the truth about opened entries. Valid until the next call.
 */
export function rawStat(fd: number): { readonly facts: Facts; readonly words: Uint32Array } {
  check(statRaw(fd, pathPointer(""), AT_EMPTY_PATH), "stat", "an open file");
  return { facts: lastFacts(), words };
}

/** Whether a name that was just listed still exists. A refused call does not count as "gone". */
export function statListed(
  folder: { readonly fd: number; readonly path: string },
  namePointer: number,
): boolean {
  if (statInto(folder.fd, namePointer) === 0) return true;
  const errno = lastErrno();
  if (errno === ENOENT) return false;
  throw systemCallError(errno, "stat", folder.path);
}

function statRaw(folder: number, namePointer: number, flags: number): number {
  if (statBuffer === undefined) {
    statBuffer = new PinnedBuffer(256);
    words = wordsOf(statBuffer);
  }
  const { address } = statBuffer;
  const ask = (sync: number) =>
    calls.statx(folder, namePointer, flags | sync, STATX_BASIC_STATS_BTIME_MNT, address);
  const result = ask(AT_STATX_DONT_SYNC);
  // Only file systems without a disk of their own have such a number.
  if (result !== 0 || words[STAT.deviceMajor] !== 0 || folder < 0) return result;
  const kind = kindOfDevice(folder);
  if (kind === "layered") words.fill(0, STAT.btime, STAT.btime + TIME_WORDS);
  return kind === "remote" ? ask(AT_STATX_FORCE_SYNC) : result;
}

/**
 * Kinds of file systems whose answers need care:
 * - `layered`: an overlay gives a file another time of birth when it is first changed, and keeps its number.
 *   So no time of birth is shown.
 * - `remote`: a server, or a program (FUSE), knows more than the kernel remembers, so it is asked.
 */
type DeviceKind = "plain" | "layered" | "remote";

const DEVICE_KINDS: { readonly [type: number]: DeviceKind } = {
  0x794c7630: "layered",
  0x6969: "remote", // NFS
  0x01021997: "remote", // 9p
  0x65735546: "remote", // FUSE, virtiofs
  0xfe534d42: "remote", // SMB
  0xff534d42: "remote", // CIFS
  0x00c36400: "remote", // Ceph
};
const knownDevices = new Map<number, DeviceKind>();

/** The kernel gives the number of an unmounted file system to the next one. */
export function forgetDevices(): void {
  knownDevices.clear();
}

/** The kind of the file system that the words are from; `folder` is on it, unless the entry is a mount. */
function kindOfDevice(folder: number): DeviceKind {
  const minor = at(words, STAT.deviceMajor + 1);
  const known = knownDevices.get(minor);
  if (known !== undefined) return known;
  const mount = /^mnt_id:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${folder}`, "latin1"))?.[1];
  if (Number(mount) !== low53(words, STAT.mountId)) return "plain";
  const kind = DEVICE_KINDS[statfsSync(`/proc/self/fd/${folder}`).type] ?? "plain";
  knownDevices.set(minor, kind);
  return kind;
}

/** The facts of `name` in `folder`, or undefined if there is nothing. */
export function factsAt(folder: number, name: string, label: string): Facts | undefined {
  if (statInto(folder, pathPointer(name)) < 0) {
    const errno = lastErrno();
    if (errno === ENOENT) return undefined;
    throw systemCallError(errno, "stat", label);
  }
  return lastFacts();
}

/** The facts of an open descriptor, whatever happened to its name. */
export function factsOfOpen(fd: number, label: string): Facts {
  check(statInto(fd, pathPointer(""), AT_EMPTY_PATH), "stat", label);
  return lastFacts();
}

/** The kind of the entry behind a descriptor. */
export function kindOfOpen(fd: number, label: string): EntryKind {
  check(statInto(fd, pathPointer(""), AT_EMPTY_PATH), "stat", label);
  return kindOf(at(words, STAT.mode));
}

/**
 * Indexes of words in the shared buffer, for the walker, which compares without making objects. Each is an
 * offset in struct statx, divided by 4.
 */
export const STAT = {
  attributes: 2,
  nlink: 4,
  uid: 5,
  gid: 6,
  mode: 7,
  ino: 8,
  size: 10,
  blocks: 12,
  btime: 20,
  ctime: 24,
  mtime: 28,
  deviceMajor: 34,
  mountId: 36,
} as const;

export function statWords(): Uint32Array {
  return words;
}

/** The facts of the last successful statInto. */
export function lastFacts(): Facts {
  const w = words;
  const mode = at(w, STAT.mode) & 0xffff;
  // A walk may hold a hundred thousand of these, and the times of one entry are often equal, so they are
  // shared.
  const mtime = timeAt(w, STAT.mtime);
  const ctime = timeAt(w, STAT.ctime, mtime);
  const btime = timeAt(w, STAT.btime, ctime);
  return {
    kind: kindOf(mode),
    mode: mode & 0o7777,
    uid: at(w, STAT.uid),
    gid: at(w, STAT.gid),
    size: low53(w, STAT.size),
    nlink: at(w, STAT.nlink),
    ino: low53(w, STAT.ino),
    mtime,
    ctime,
    btime,
    atime: timeAt(w, 16, btime),
    rdev: rdevName(at(w, 32), at(w, 33)),
    mountId: low53(w, STAT.mountId),
    device: deviceName(at(w, STAT.deviceMajor), at(w, STAT.deviceMajor + 1)),
    locked: (at(w, STAT.attributes) & STATX_ATTR_IMMUTABLE_OR_APPEND) !== 0,
  };
}

/** The bytes on disk of the entry of the last successful statInto. */
export function lastAllocated(): number {
  return low53(words, STAT.blocks) * 512;
}

const rdevName = rememberingLast((major, minor) => `${major}:${minor}`);
const deviceName = rememberingLast((major, minor) => `${major}:${minor}`);

/** Consecutive entries often have the same numbers, and formatting them takes longer than everything else. */
function rememberingLast(
  textOf: (major: number, minor: number) => string,
): (major: number, minor: number) => string {
  let [lastMajor, lastMinor] = [0, 0];
  let text = textOf(0, 0);
  return (major, minor) => {
    if (major !== lastMajor || minor !== lastMinor) {
      [lastMajor, lastMinor] = [major, minor];
      text = textOf(major, minor);
    }
    return text;
  };
}

export function kindOf(mode: number): EntryKind {
  return KINDS[mode & S_IFMT] ?? "device";
}

export function low53(w: Uint32Array, index: number): number {
  return (at(w, index + 1) & 0x1fffff) * 0x1_0000_0000 + at(w, index);
}

/** Seconds are signed: files may be older than 1970. Returns `other` if it is equal. */
function timeAt(w: Uint32Array, index: number, other?: Time): Time {
  const seconds = (at(w, index + 1) | 0) * 0x1_0000_0000 + at(w, index);
  const nanoseconds = at(w, index + 2);
  return other !== undefined && other[0] === seconds && other[1] === nanoseconds
    ? other
    : [seconds, nanoseconds];
}

function at(w: Uint32Array, index: number): number {
  return w[index] as number;
}

export function compareTimes(a: Time, b: Time): number {
  return a[0] - b[0] || a[1] - b[1];
}

export function sameTime(a: Time, b: Time): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

export function identityOf(facts: Identity): Identity {
  return { ino: facts.ino, btime: facts.btime };
}

export function sameIdentity(a: Identity, b: Identity): boolean {
  return a.ino === b.ino && sameTime(a.btime, b.btime);
}

/** The identity of an entry, as the key of a map. */
export function identityKey({ ino, btime }: Identity): string {
  return `${ino} ${btime[0]}.${btime[1]}`;
}

/** UTC, ISO 8601, to the nanosecond. */
export function isoTime([seconds, nanoseconds]: Time): string {
  const whole = new Date(seconds * 1000);
  if (Number.isNaN(whole.getTime())) return `${seconds}.${String(nanoseconds).padStart(9, "0")}`;
  return `${whole.toISOString().slice(0, -5)}.${String(nanoseconds).padStart(9, "0")}Z`;
}
