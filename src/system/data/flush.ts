import { fsyncSync, readFileSync, statfsSync } from "node:fs";
import { failedWith } from "../calls/errno.ts";
import type { Folder } from "../calls/folder.ts";
import { closeFile } from "../calls/handles.ts";
import { calls, syncfs } from "../calls/native.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";

/**
 * Makes changes durable with one flush of their file system: two of these land 2,000 files in 49 ms, where a
 * flush per file takes 3,460 ms. But such a flush writes everything that any process wrote there. If much is
 * waiting, Drydock flushes only its own entries, one by one, unless there are so many that flushing
 * everything is faster.
 */
const MUCH_DIRTY_KIB = 64 * 1024;
/** A flush of one entry takes about as long as writing this much. */
const WORTH_A_FLUSH_KIB = 256;
const MOST_OPEN = 256;
/**
 * FUSE and 9p: a flush of the file system ends in this kernel, and does not reach the program or machine that
 * has the files. A flush of an entry does.
 */
const NOT_AS_A_WHOLE: ReadonlySet<number> = new Set([0x65735546, 0x01021997]);
const SYNC_FILE_RANGE_WRITE = 2;

/**
 * Flushes the file system of `folder`, or only the entries of `ours`, which must name everything that has to
 * be on disk. `atLeast` is their minimum number, where it is known.
 */
export async function flush(
  point: Failpoint,
  folder: Folder,
  ours: () => Iterable<FlushTarget>,
  atLeast = 0,
): Promise<void> {
  if (passFailpoint(point) === "skip") return;
  if (NOT_AS_A_WHOLE.has(typeOf(folder)) && flushedEach(ours(), Number.POSITIVE_INFINITY)) return;
  const waiting = dirtyKib();
  // The number of our own entries shows only on the way. Give up once they have cost as much as flushing
  // everything, so at most twice that in all.
  const most = waiting / WORTH_A_FLUSH_KIB;
  if (waiting >= MUCH_DIRTY_KIB && atLeast <= most && flushedEach(ours(), most)) return;
  await syncfs(folder.fd, folder.path);
}

/** Whether all were flushed. An entry that its own owner may not open can't be flushed alone. */
function flushedEach(targets: Iterable<FlushTarget>, most: number): boolean {
  try {
    return flushEach(targets, most);
  } catch (thrown) {
    if (failedWith(thrown, "EACCES", "EPERM")) return false;
    throw thrown;
  }
}

/** An entry with everything in it; "." is the folder alone. */
export interface FlushTarget {
  readonly parent: Folder;
  readonly name: string;
  /** Whether to flush only the entry, not what is in it. */
  readonly alone?: boolean;
}

/**
 * Flushes these entries one by one, and returns true; returns false if they are more than `most`. Starts
 * writing many before it waits for the first, so that one entry of the journal serves all: 20 new files on a
 * busy disk take 20 ms instead of 100.
 */
export function flushEach(targets: Iterable<FlushTarget>, most = Number.POSITIVE_INFINITY): boolean {
  let count = 0;
  const open: OpenTarget[] = [];
  const flushOpen = () => {
    try {
      // This only starts the writing; the flush reports errors.
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

/** Opens the entries again, because they are flushed later, when the caller may have closed its folders. */
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

function typeOf({ fd }: Folder): number {
  return statfsSync(`/proc/self/fd/${fd}`).type;
}

function dirtyKib(): number {
  return Number(/^Dirty:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "latin1"))?.[1] ?? 0);
}
