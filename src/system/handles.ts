import { calls, check } from "./native.ts";

/** Closes a descriptor that a Folder opened. */
export function closeFile(fd: number): void {
  calls.close(fd);
}

/** Lets the next one who reads or writes through this descriptor begin at the start. */
export function rewindFile(fd: number, label: string): void {
  check(calls.lseek(fd, 0, 0), "seek", label);
}
