import { calls, check } from "./native.ts";

const F_DUPFD_CLOEXEC = 1030;
const LOWEST_DESCRIPTOR = 3;

/** Closes a descriptor that a Folder opened. */
export function closeFile(fd: number): void {
  calls.close(fd);
}

/** A second descriptor of the same open file, which no program inherits. */
export function duplicateFile(fd: number): number {
  return check(calls.fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR), "dup", "a descriptor");
}
