import { closeSync, fstatSync, statSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";

/**
 * Files that this process has locked, as SQLite does. The kernel drops such a lock as soon as the process
 * closes *any* descriptor of the file; then two could write at once. So code that opens such a file closes it
 * by `closeUnlessLocked`, which keeps the descriptor open until the lock is released.
 */
const waiting = new Map<string, { holders: number; readonly descriptors: number[] }>();

/**
 * Declares that this process is about to lock the file at this path. Call the returned function after
 * unlocking it.
 */
export function holdLocks(path: string): () => void {
  const identity = identityOf(statSync(bytesFromPath(path), { bigint: true }));
  const held = waiting.get(identity) ?? { holders: 0, descriptors: [] };
  held.holders += 1;
  waiting.set(identity, held);
  return () => {
    held.holders -= 1;
    if (held.holders > 0) return;
    waiting.delete(identity);
    for (const fd of held.descriptors) closeSync(fd);
  };
}

/** Closes a descriptor now, or once this process no longer locks the file. */
export function closeUnlessLocked(fd: number): void {
  const held = waiting.size === 0 ? undefined : waiting.get(identityOf(fstatSync(fd, { bigint: true })));
  if (held === undefined) closeSync(fd);
  else held.descriptors.push(fd);
}

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}
