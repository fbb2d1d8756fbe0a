/**
 * Entries that are, or were, opened up (closed-entries.ts), as this process shows them: with the mode and the
 * change time that they have in truth. So nothing that compares, copies or records entries has to know that
 * one of them is open, and nobody takes our own opening and closing for somebody else's change. The table is
 * empty nearly always.
 */
export interface ShownMode {
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
  /** What it has just now. Anything else is somebody else's doing, and is shown as it is. */
  readonly actualMode: number;
  readonly ctime: TimeWords;
  /** What our last change of its mode has left. */
  readonly actualCtime: TimeWords;
}

/** Words of struct statx_timestamp: seconds, low and high, and nanoseconds. */
export type TimeWords = readonly [number, number, number];

const shown = new Map<string, ShownMode>();
const MOST = 100_000;

/**
 * Opens an entry up for who was refused it: the folder itself, or a name in it. Set by closed-entries.ts,
 * which knows how.
 */
type Opener = (folder: number, name: string | undefined) => boolean;
let opener: Opener | undefined;

export function setOpener(open: Opener): void {
  opener = open;
}

/** Whether something was opened up, so that trying again may succeed. */
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

/** Who the entry is whose struct statx these words are: its inode and its birth. */
export function keyOfWords(words: Uint32Array): string {
  const { ino, btime } = WORDS;
  return `${words[ino]}:${words[ino + 1]}:${words[btime]}:${words[btime + 2]}`;
}

export function ctimeOfWords(words: Uint32Array): TimeWords {
  return [words[WORDS.ctime] ?? 0, words[WORDS.ctime + 1] ?? 0, words[WORDS.ctime + 2] ?? 0];
}

/** Puts the truth into a struct statx that the kernel has filled. */
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
