import { fsyncSync, readFileSync } from "node:fs";
import { failedWith } from "../calls/errno.ts";
import type { Folder } from "../calls/folder.ts";
import { closeFile } from "../calls/handles.ts";
import { calls, syncfs } from "../calls/native.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";

/**
 * Makes changes durable with one flush of their file system: two of these land 2,000 files in 49 ms, where a
 * flush per file takes 3,460 ms. But a file system is flushed with everything that anybody wrote to it: when
 * a lot is waiting, only what is ours is flushed, one by one, unless that is so much itself that flushing
 * everything is quicker.
 */
const MUCH_DIRTY_KIB = 64 * 1024;
/** A flush of one entry takes about as long as writing this much. */
const WORTH_A_FLUSH_KIB = 256;
const MOST_OPEN = 256;
const SYNC_FILE_RANGE_WRITE = 2;

/**
 * `ours` names everything that must be on disk, for the case that the whole file system is too much;
 * `atLeast` says how much that is, where it is known.
 */
export async function flush(
  point: Failpoint,
  folder: Folder,
  ours: () => Iterable<FlushTarget>,
  atLeast = 0,
): Promise<void> {
  if (passFailpoint(point) === "skip") return;
  const waiting = dirtyKib();
  // How much is ours shows only on the way: up to where it has cost as much as everything would, so at most
  // twice that in all.
  const most = waiting / WORTH_A_FLUSH_KIB;
  if (waiting >= MUCH_DIRTY_KIB && atLeast <= most && flushedEach(ours(), most)) return;
  await syncfs(folder.fd, folder.path);
}

/** Whether all of them were flushed. What its own owner may not open can't be flushed alone. */
function flushedEach(targets: Iterable<FlushTarget>, most: number): boolean {
  try {
    return flushEach(targets, most);
  } catch (thrown) {
    if (failedWith(thrown, "EACCES", "EPERM")) return false;
    throw thrown;
  }
}

/** An entry with all that is in it; "." is the folder itself, without what is in it. */
export interface FlushTarget {
  readonly parent: Folder;
  readonly name: string;
  /** Only the entry itself, not what is in it. */
  readonly alone?: boolean;
}

/**
 * Flushes these, one by one, unless they are more than `most`; whether it has flushed them all. Many at a
 * time: all of them are on their way to the disk before the first is waited for, so that one entry of the
 * journal does for all. Of 20 new files on a busy disk that makes 20 ms instead of 100.
 */
export function flushEach(targets: Iterable<FlushTarget>, most = Number.POSITIVE_INFINITY): boolean {
  let count = 0;
  const open: OpenTarget[] = [];
  const flushOpen = () => {
    try {
      // Only to begin with: what can't be written is told by the flush.
      for (const { fd, isFile } of open) if (isFile) calls.syncFileRange(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
      for (const { fd } of open) fsyncSync(fd);
    } finally {
      for (const { close } of open.splice(0)) close();
    }
  };
  try {
    for (const { parent, name, alone } of targets)
      for (const target of opened(parent, name, alone === true)) {
        open.push(target);
        count += 1;
        if (count > most) return false;
        if (open.length === MOST_OPEN) flushOpen();
      }
    flushOpen();
    return true;
  } finally {
    for (const { close } of open) close();
  }
}

interface OpenTarget {
  readonly fd: number;
  readonly isFile: boolean;
  readonly close: () => void;
}

/** Opened once more, because they are flushed later, when whoever named them may have closed his folders. */
function* opened(parent: Folder, name: string, alone: boolean): Generator<OpenTarget> {
  const kind = name === "." ? "directory" : parent.facts(name)?.kind;
  if (kind === "directory") {
    if (name !== "." && !alone) {
      using folder = parent.openChild(name);
      for (const child of folder.names()) yield* opened(folder, child, false);
    }
    const folder = name === "." ? parent.duplicate() : parent.openChild(name);
    yield { fd: folder.fd, isFile: false, close: () => folder.close() };
  } else if (kind === "file") {
    const fd = parent.openFile(name);
    yield { fd, isFile: true, close: () => closeFile(fd) };
  }
}

function dirtyKib(): number {
  return Number(/^Dirty:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "latin1"))?.[1] ?? 0);
}
