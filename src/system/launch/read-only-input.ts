import { constants } from "node:fs";
import { SystemCallError } from "../../core/errors/errors.ts";
import { factsOfOpen } from "../calls/facts.ts";
import { calls, check, cString } from "../calls/native.ts";
import { O_CLOEXEC, O_PATH } from "../calls/open-flags.ts";
import { launchCalls } from "./calls.ts";
import { copyMount, setMountFlags } from "./new-mount.ts";

const SEEK_SET = 0;
const SEEK_CUR = 1;

/**
 * Opens the file at standard input again, through a read-only mount, at the current position of the
 * descriptor. Through the descriptor itself a command could open the file for writing (/proc/self/fd/0), or
 * change its mode and times.
 */
export function reopenReadOnly(fd: number, path: string): number {
  const handle = check(
    launchCalls.open(cString(path), O_PATH | constants.O_NOFOLLOW | O_CLOEXEC, 0),
    "open",
    path,
  );
  assertSame(handle, fd, path);
  const mount = copyMount(handle, path, false);
  setMountFlags(mount, { readOnly: true, noSetid: true, noDevices: true, noPrograms: true }, path, false);
  const opened = openAgain(mount, fd, path);
  for (const closed of [handle, mount]) calls.close(closed);
  return opened;
}

/** Opens the file at standard input again, only for reading, at the current position of the descriptor. */
export function reopenByDescriptor(fd: number, path: string): number {
  return openAgain(fd, fd, path);
}

function openAgain(handle: number, fd: number, path: string): number {
  const opened = check(launchCalls.open(cString(`/proc/self/fd/${handle}`), O_CLOEXEC, 0), "open", path);
  check(calls.lseek(opened, calls.lseek(fd, 0, SEEK_CUR), SEEK_SET), "seek", path);
  return opened;
}

function assertSame(handle: number, fd: number, path: string): void {
  const [one, other] = [factsOfOpen(handle, path), factsOfOpen(fd, path)];
  if (one.ino === other.ino && one.device === other.device) return;
  throw new SystemCallError("ESTALE", "open", path, "another file took its place just now");
}
