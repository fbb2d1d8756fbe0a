import { type Facts, low53, STAT, statWords } from "../../system/calls/facts.ts";
import { TYPE_BITS } from "./baseline-columns.ts";

/** The numbers that show whether an entry was touched: every change moves its change time. */
export interface StatView {
  readonly ino: number;
  /** Includes the bits of the file type. */
  readonly mode: number;
  readonly size: number;
  readonly ctime: number;
  readonly ctimeNs: number;
  readonly mtime: number;
  readonly mtimeNs: number;
}

const FOLDER = TYPE_BITS.directory;
const TYPE = 0o170000;

/** The result of the last successful stat, read from the kernel's buffer. Valid until the next stat. */
export const lastStat = {
  get ino() {
    return low53(statWords(), STAT.ino);
  },
  get mode() {
    return word(STAT.mode) & 0xffff;
  },
  get size() {
    return low53(statWords(), STAT.size);
  },
  get ctime() {
    return seconds(STAT.ctime);
  },
  get ctimeNs() {
    return word(STAT.ctime + 2);
  },
  get mtime() {
    return seconds(STAT.mtime);
  },
  get mtimeNs() {
    return word(STAT.mtime + 2);
  },
  get nlink() {
    return word(STAT.nlink);
  },
} satisfies StatView & { readonly nlink: number };

export function statOf({ ino, kind, mode, size, ctime, mtime }: Facts): StatView {
  const times = { ctime: ctime[0], ctimeNs: ctime[1], mtime: mtime[0], mtimeNs: mtime[1] };
  return { ino, mode: TYPE_BITS[kind] | mode, size, ...times };
}

/** Whether both stats show the same untouched entry. The size of a folder says nothing. */
export function isSameStat(a: StatView, b: StatView): boolean {
  return (
    a.ctime === b.ctime &&
    a.ctimeNs === b.ctimeNs &&
    a.ino === b.ino &&
    a.mode === b.mode &&
    a.mtime === b.mtime &&
    a.mtimeNs === b.mtimeNs &&
    (a.size === b.size || (a.mode & TYPE) === FOLDER)
  );
}

function word(index: number): number {
  return statWords()[index] as number;
}

/** Signed, because files may be older than 1970. */
function seconds(index: number): number {
  return (word(index + 1) | 0) * 0x1_0000_0000 + word(index);
}
