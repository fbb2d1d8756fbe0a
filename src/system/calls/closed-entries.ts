import { constants, readlinkSync } from "node:fs";
import { isAtOrBelow, pathFromBytes } from "../../core/paths/byte-path.ts";
import { type Failpoint, failpoint, passFailpoint } from "../failpoints.ts";
import { type Facts, type Identity, identityOf, rawStat, sameIdentity } from "./facts.ts";
import { AT_FDCWD, calls, check, pathPointer } from "./native.ts";
import { O_CLOEXEC, O_PATH } from "./open-flags.ts";
import {
  ctimeOfWords,
  keyOfWords,
  type ShownMode,
  setOpener,
  showAs,
  shownMode,
  showTruth,
  type TimeWords,
} from "./shown-modes.ts";

/**
 * Commands may leave folders and files that their own owner can't read: a folder of mode 0600 or 0000, a file
 * of mode 0200. Root can read them anyway. For other users, Drydock opens such an entry for a while and then
 * restores its mode:
 *
 * 1. The kernel refuses a call.
 * 2. The `Door` notes the entry and its mode.
 * 3. The entry gets the mode that the call needs, and the call is made again.
 * 4. When the door closes, the entry gets its mode back.
 *
 * Meanwhile this process shows the true mode (shown-modes.ts). If it dies, the note stays, and the next
 * process restores the mode.
 */
export interface Door {
  /**
   * Absolute paths. Only entries at or below one of them are opened; below a root for `folders`, only
   * folders.
   */
  readonly roots: readonly { readonly path: string; readonly opens: "everything" | "folders" }[];
  /** Records an entry before it is opened, so that its mode can be restored. */
  note(entry: ClosedEntry): void;
  /** Called when an entry is closed again, with the change time that this left. */
  closed(times: ClosedTimes): void;
}

/** An entry that is opened, with its true mode and change time. */
export interface ClosedEntry extends Identity {
  readonly root: string;
  /** The path below that root; "." for the root itself. */
  readonly path: string;
  readonly mode: number;
  readonly ctime: TimeWords;
}

/** An entry that is closed again. Only its change time differs from the truth. */
export interface ClosedTimes extends ShownMode {
  readonly key: string;
}

interface Opened {
  readonly door: Door;
  readonly key: string;
  readonly handle: number;
  readonly entry: ClosedEntry;
  readonly needed: number;
}

const POINTS = {
  open: failpoint("closed.open"),
  set: failpoint("closed.set"),
  close: failpoint("closed.close"),
};

const doors: Door[] = [];
const opened = new Map<string, Opened>();

/** From now on, refused calls open entries below the roots of this door. */
export function openDoor(door: Door): void {
  setOpener(openFor);
  doors.unshift(door);
}

/** Closes all entries that were opened through this door. A failure does not stop the rest. */
export function closeDoor(door: Door): void {
  const at = doors.indexOf(door);
  if (at >= 0) doors.splice(at, 1);
  const failures: unknown[] = [];
  for (const item of [...opened.values()].filter((candidate) => candidate.door === door)) {
    try {
      giveBack(item);
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Closes the opened entries at or below this path now. Nothing may touch them afterwards. */
export function closeBelow(path: string): void {
  for (const item of [...opened.values()]) if (isAtOrBelow(pathOfHandle(item.handle), path)) giveBack(item);
}

/** Shows the true mode of an entry that another process has opened. */
export function showForeign({ mode, ctime }: ClosedEntry, handle: number): void {
  const { facts, words } = rawStat(handle);
  const actualMode = mode | neededBits(facts);
  if (opened.has(keyOfWords(words)) || facts.mode !== actualMode) return;
  showAs(keyOfWords(words), { mode, actualMode, ctime, actualCtime: ctimeOfWords(words) });
}

/**
 * Restores the mode of an entry that a dead process had opened. Leaves an entry alone that another process
 * has changed since.
 */
export function closeAfterCrash(door: Door, entry: ClosedEntry, handle: number): void {
  const { facts, words } = rawStat(handle);
  const key = keyOfWords(words);
  // This process may have opened it meanwhile; then it closes it.
  if (opened.has(key) || !sameIdentity(facts, entry) || facts.mode !== (entry.mode | neededBits(facts)))
    return;
  setModeOf(handle, POINTS.close, entry.mode, entry.path);
  noteClosed(door, handle, { key, mode: entry.mode, ctime: entry.ctime });
}

/** Sets the mode that an opened entry gets when it is closed. Returns false if it is not opened. */
export function setTrueMode(handle: number, mode: number): boolean {
  if (opened.size === 0) return false;
  const item = opened.get(keyOfWords(rawStat(handle).words));
  if (item === undefined) return false;
  const entry = { ...item.entry, mode };
  const actualMode = mode | item.needed;
  item.door.note(entry);
  opened.set(item.key, { ...item, entry });
  setModeOf(handle, POINTS.set, actualMode, entry.path);
  const ctime = ctimeOfWords(rawStat(handle).words);
  showAs(item.key, { mode, actualMode, ctime, actualCtime: ctime });
  return true;
}

function openFor(folder: number, name: string | undefined): boolean {
  if (doors.length === 0 || process.geteuid?.() === 0) return false;
  if (folder !== AT_FDCWD && openUp(handleOf(AT_FDCWD, `/proc/self/fd/${folder}`, 0))) return true;
  return name !== undefined && openOnTheWay(folder, name);
}

/** Opens the first closed folder on the path. A caller that is refused again asks again. */
function openOnTheWay(folder: number, path: string): boolean {
  if (path.startsWith("/")) return openUp(handleOf(folder, path, constants.O_NOFOLLOW));
  let way = "";
  for (const name of path.split("/")) {
    way = way === "" ? name : `${way}/${name}`;
    if (openUp(handleOf(folder, way, constants.O_NOFOLLOW))) return true;
  }
  return false;
}

function handleOf(folder: number, path: string, flags: number): number {
  return calls.openat(folder, pathPointer(path), O_PATH | O_CLOEXEC | flags, 0);
}

/** Takes ownership of the handle. */
function openUp(handle: number): boolean {
  if (handle < 0) return false;
  const item = noted(handle);
  if (item === undefined) {
    calls.close(handle);
    return false;
  }
  const { entry, key, needed } = item;
  const actualMode = entry.mode | needed;
  opened.set(key, item);
  setModeOf(handle, POINTS.open, actualMode, entry.path);
  const actualCtime = ctimeOfWords(rawStat(handle).words);
  showAs(key, { mode: entry.mode, actualMode, ctime: entry.ctime, actualCtime });
  return true;
}

/** Notes an entry at its door. Undefined if it is not closed, not this user's, or below no door. */
function noted(handle: number): Opened | undefined {
  const { facts, words } = rawStat(handle);
  const needed = neededBits(facts);
  const key = keyOfWords(words);
  if (facts.uid !== process.geteuid?.() || (facts.mode & needed) === needed || opened.has(key))
    return undefined;
  showTruth(words);
  const ctime = ctimeOfWords(words);
  const path = pathOfHandle(handle);
  for (const door of doors) {
    const found = door.roots.find((candidate) => isAtOrBelow(path, candidate.path));
    if (found === undefined || (found.opens === "folders" && facts.kind !== "directory")) continue;
    const root = found.path;
    const below = path === root ? "." : path.slice(root.length + 1);
    const entry: ClosedEntry = { ...identityOf(facts), root, path: below, mode: facts.mode, ctime };
    door.note(entry);
    return { door, key, handle, entry, needed };
  }
  return undefined;
}

function giveBack({ door, key, handle, entry, needed }: Opened): void {
  opened.delete(key);
  try {
    if (rawStat(handle).facts.mode !== (entry.mode | needed)) return;
    setModeOf(handle, POINTS.close, entry.mode, entry.path);
    noteClosed(door, handle, { key, mode: entry.mode, ctime: shownMode(key)?.ctime ?? entry.ctime });
  } finally {
    calls.close(handle);
  }
}

function noteClosed(
  door: Door,
  handle: number,
  { key, mode, ctime }: { readonly key: string; readonly mode: number; readonly ctime: TimeWords },
): void {
  const times = { mode, actualMode: mode, ctime, actualCtime: ctimeOfWords(rawStat(handle).words) };
  showAs(key, times);
  door.closed({ key, ...times });
}

/** An owner needs all three bits of a folder to list and change it, and only the read bit of a file. */
function neededBits({ kind }: Facts): number {
  if (kind === "directory") return 0o700;
  return kind === "file" ? 0o400 : 0;
}

function pathOfHandle(handle: number): string {
  return pathFromBytes(readlinkSync(`/proc/self/fd/${handle}`, { encoding: "buffer" }));
}

function setModeOf(handle: number, point: Failpoint, mode: number, label: string): void {
  passFailpoint(point);
  check(calls.chmod(pathPointer(`/proc/self/fd/${handle}`), mode), "chmod", label);
}
