import { failedWith, systemCallError } from "./errno.ts";
import type { Folder } from "./folder.ts";
import { calls, lastErrno } from "./native.ts";

const LOCK_EXCLUSIVE_NOW = 2 | 4;

/** Takes the lock of an open folder, until it is closed; false if another has it. The kernel gives it up when a process dies. */
export function tryLock(folder: Folder): boolean {
  if (calls.flock(folder.fd, LOCK_EXCLUSIVE_NOW) === 0) return true;
  const error = systemCallError(lastErrno(), "flock", folder.path);
  if (failedWith(error, "EAGAIN", "EWOULDBLOCK")) return false;
  throw error;
}
