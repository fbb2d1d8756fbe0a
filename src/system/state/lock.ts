import { BusyError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { failedWith, systemCallError } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { calls, check, lastErrno } from "../calls/native.ts";
import { milliseconds } from "../milliseconds.ts";

/**
 * Locks of open files and folders (flock). A lock belongs to the descriptor that took it and is released when
 * that is closed, however the process ends. It works between processes, and between two descriptors of one
 * process.
 */
const SHARED = 1;
const EXCLUSIVE = 2;
const AT_ONCE = 4;

const LONGEST_WAIT_MS = 10_000;
const TRY_AGAIN_MS = 2;

/** An open file or folder; the path is for messages. */
type Lockable = Pick<Folder, "fd" | "path">;

/** Takes the lock of an open file or folder. Waits while another descriptor holds it. */
export function takeLock({ fd, path }: Lockable): void {
  check(calls.flock(fd, EXCLUSIVE), "flock", path);
}

/**
 * Takes the lock of an open file or folder; false if another descriptor holds it. Many can hold it shared, if
 * none holds it alone.
 */
export function tryLock({ fd, path }: Lockable, how: "alone" | "shared" = "alone"): boolean {
  if (calls.flock(fd, (how === "alone" ? EXCLUSIVE : SHARED) | AT_ONCE) === 0) return true;
  const error = systemCallError(lastErrno(), "flock", path);
  if (failedWith(error, "EAGAIN", "EWOULDBLOCK")) return false;
  throw error;
}

/**
 * Calls `action` while it holds the lock of a folder of Drydock's own. Other processes hold that only
 * briefly.
 */
export function whileLocked<T>(folder: Folder, action: () => T): T {
  // With its own descriptor: the given one would keep holding the lock.
  using own = Folder.open(folder.path);
  waitForLock(own, "alone");
  return action();
}

/** Takes a lock that other processes hold only briefly. */
export function waitForLock(folder: Folder, how: "alone" | "shared"): void {
  const giveUpAt = milliseconds() + LONGEST_WAIT_MS;
  while (!tryLock(folder, how)) {
    if (milliseconds() > giveUpAt)
      throw new BusyError(`${displayPath(folder.path)} is locked by another process for too long.`, {
        holder: "another Drydock process",
      });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_AGAIN_MS);
  }
}
