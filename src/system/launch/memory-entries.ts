import { constants, writeFileSync } from "node:fs";
import { calls, check, pathPointer } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";

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
