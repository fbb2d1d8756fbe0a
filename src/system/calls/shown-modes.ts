/**
 * How this process shows entries that are, or were, opened (closed-entries.ts): with their true mode and
 * change time. So code that compares, copies or records entries need not know about opened ones, and does not
 * take our own chmod for a change by another writer. The table is nearly always empty.
 */
export interface ShownMode {
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
  /**
   * The mode that the opened entry has now. Any other mode was set by another process, and is shown as it is.
   */
  readonly actualMode: number;
  readonly ctime: TimeWords;
  /** The change time that our last chmod left. */
  readonly actualCtime: TimeWords;
}

/** Words of struct statx_timestamp: seconds, low and high, and nanoseconds. */
export type TimeWords = readonly [number, number, number];

const shown = new Map<string, ShownMode>();
const MOST = 100_000;

/**
 * Opens a closed entry after a refused call: the folder itself, or a name in it. closed-entries.ts sets it.
 */
type Opener = (folder: number, name: string | undefined) => boolean;
let opener: Opener | undefined;

export function setOpener(open: Opener): void {
  opener = open;
}

/** Whether an entry was opened, so that the same call may succeed now. */
export function opensUp(folder: number, name?: string): boolean {
  return opener?.(folder, name) ?? false;
}

export function showAs(key: string, mode: ShownMode): void {
  shown.delete(key);
  shown.set(key, mode);
  const [oldest] = shown.size > MOST ? shown.keys() : [];
  if (oldest !== undefined) shown.delete(oldest);
}

export function shownMode(key: string): ShownMode | undefined {
  return shown.get(key);
}

const PERMISSIONS = 0o7777;
const WORDS = { mode: 7, ino: 8, btime: 20, ctime: 24 };

/** The identity of the entry in these words of struct statx: its inode and birth time. */
export function keyOfWords(words: Uint32Array): string {
  const { ino, btime } = WORDS;
  return `${words[ino]}:${words[ino + 1]}:${words[btime]}:${words[btime + 2]}`;
}

export function ctimeOfWords(words: Uint32Array): TimeWords {
  return [words[WORDS.ctime] ?? 0, words[WORDS.ctime + 1] ?? 0, words[WORDS.ctime + 2] ?? 0];
}

/** Writes the true mode and change time into a struct statx that the kernel has filled. */
export function showTruth(words: Uint32Array): void {
  if (shown.size === 0) return;
  const found = shown.get(keyOfWords(words));
  const word = words[WORDS.mode] ?? 0;
  if (found === undefined || (word & PERMISSIONS) !== found.actualMode) return;
  words[WORDS.mode] = (word & ~PERMISSIONS) | found.mode;
  if (sameWords(ctimeOfWords(words), found.actualCtime)) words.set(found.ctime, WORDS.ctime);
}

function sameWords(one: TimeWords, other: TimeWords): boolean {
  return one.every((part, at) => part === other[at]);
}
