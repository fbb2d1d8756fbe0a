import { constants, writeFileSync } from "node:fs";
import { calls, check, cString, pathPointer } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";
import { launchCalls } from "./calls.ts";

const AF_UNIX = 1;
const SOCK_STREAM_CLOEXEC = 1 | 0o2000000;
/** More callers wait until one of these is taken. */
const BACKLOG = 16;
/** Every user inside may connect: whichever the command changes to, it is the same command. */
const UMASK = 0o111;

/** An entry of a small file system in memory. Folders come before their entries. */
export type MemoryEntry =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly content?: string }
  | { readonly kind: "link"; readonly path: string; readonly to: string };

/** Makes the entries in a file system that no other process has seen yet. */
export function fillMemory(folder: number, entries: readonly MemoryEntry[], label: string): void {
  // Every user may read them, whatever this process's umask.
  const before = process.umask(0);
  try {
    for (const entry of entries) make(folder, entry, `${label}/${entry.path}`);
  } finally {
    process.umask(before);
  }
}

function make(folder: number, entry: MemoryEntry, label: string): void {
  const path = pathPointer(entry.path);
  if (entry.kind === "folder") check(calls.mkdirat(folder, path, 0o755), "mkdir", label);
  else if (entry.kind === "link")
    check(calls.symlinkat(pathPointer(entry.to, 1), folder, path), "symlink", label);
  else makeFile(folder, path, Buffer.from(entry.content ?? "", "base64"), label);
}

function makeFile(folder: number, path: number, content: Buffer, label: string): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_CLOEXEC;
  const fd = check(calls.openat(folder, path, flags, 0o644), "create", label);
  writeFileSync(fd, content);
  calls.close(fd);
}

/** Makes a socket in a folder that no path leads to yet, and listens there. */
export function listenIn(folder: number, name: string, label: string): number {
  const socket = check(launchCalls.socket(AF_UNIX, SOCK_STREAM_CLOEXEC, 0), "socket", label);
  // struct sockaddr_un: the family, then the path, which begins at the current folder.
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), Buffer.from(`${name}\0`)]);
  const before = process.umask(UMASK);
  try {
    check(launchCalls.fchdir(folder), "chdir", label);
    check(launchCalls.bind(socket, address, address.length), "bind", label);
  } finally {
    process.umask(before);
    check(launchCalls.chdir(cString("/")), "chdir", "/");
  }
  check(launchCalls.listen(socket, BACKLOG), "listen", label);
  return socket;
}
