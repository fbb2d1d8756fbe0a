import { displayPath } from "../core/byte-path.ts";
import { BusyError } from "../core/errors.ts";
import { failedWith, systemCallError } from "./errno.ts";
import { Folder } from "./folder.ts";
import { calls, lastErrno } from "./native.ts";

const LOCK_EXCLUSIVE_NOW = 2 | 4;

const LONGEST_WAIT_MS = 10_000;
const TRY_AGAIN_MS = 2;

/** Calls `action` while it has the lock of a folder of our own, which others have only for moments. */
export function whileLocked<T>(folder: Folder, action: () => T): T {
  // Of a descriptor of its own: another one that is open here would share the lock with it.
  using own = Folder.open(folder.path);
  const giveUpAt = performance.now() + LONGEST_WAIT_MS;
  while (!tryLock(own)) {
    if (performance.now() > giveUpAt)
      throw new BusyError(`${displayPath(folder.path)} is locked by another process for too long.`, {
        holder: "another Drydock process",
      });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_AGAIN_MS);
  }
  return action();
}

/** Takes the lock of an open folder or file, until it is closed; false if another has it. The kernel gives it up when a process dies. */
export function tryLock(folder: Pick<Folder, "fd" | "path">): boolean {
  if (calls.flock(folder.fd, LOCK_EXCLUSIVE_NOW) === 0) return true;
  const error = systemCallError(lastErrno(), "flock", folder.path);
  if (failedWith(error, "EAGAIN", "EWOULDBLOCK")) return false;
  throw error;
}
