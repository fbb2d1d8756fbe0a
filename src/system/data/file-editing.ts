import { constants } from "node:fs";
import type { Folder } from "../calls/folder.ts";
import { calls, check, pathPointer } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { writeBytes } from "./file-data.ts";

/** Changes a file in the middle, as programs do and Drydock itself does not. */
const SEEK_SET = 0;

/** Opens an existing file for writing into it, without truncating it. */
export function openToEdit(point: Failpoint, folder: Folder, name: string): number {
  passFailpoint(point);
  const flags = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | O_CLOEXEC;
  return check(calls.openat(folder.fd, pathPointer(name), flags, 0), "open", folder.label(name));
}

/** An open file, and what errors call it. */
interface OpenFile {
  readonly fd: number;
  readonly label: string;
}

/** Writes at an offset. Beyond the end of the file, this leaves a hole. */
export function writeAt(point: Failpoint, { fd, label }: OpenFile, at: number, bytes: Uint8Array): void {
  check(calls.lseek(fd, at, SEEK_SET), "seek", label);
  writeBytes(point, fd, bytes, label);
}

/** Truncates a file, or extends it by a hole. */
export function resizeFile(point: Failpoint, fd: number, size: number, label: string): void {
  passFailpoint(point);
  check(calls.ftruncate(fd, size), "truncate", label);
}
