import { calls } from "./native.ts";

/** Closes a descriptor that a Folder opened. */
export function closeFile(fd: number): void {
  calls.close(fd);
}
