import { closeSync, fstatSync, statSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";

/**
 * Files that something in this process has locked, the way SQLite does. Such a lock is gone as soon as the
 * process closes *any* descriptor of the file, whoever opened it and for what: two writers at once would
 * follow. So who opens a file that may be one of these closes it by `closeUnlessLocked`, and where it is
 * locked it stays open until it no longer is.
 */
const waiting = new Map<string, { holders: number; readonly descriptors: number[] }>();

/**
 * Says that the file at this path is about to be locked; the function that is returned says that it no longer
 * is.
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

/** Closes a descriptor now, or when the file is no longer locked by this process. */
export function closeUnlessLocked(fd: number): void {
  const held = waiting.size === 0 ? undefined : waiting.get(identityOf(fstatSync(fd, { bigint: true })));
  if (held === undefined) closeSync(fd);
  else held.descriptors.push(fd);
}

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}
