import { isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import type { FoundOutside } from "./outside-files.ts";

/** Files outside of a plan, put together by where they are. */
export interface OutsideGroup {
  /** A cache, a folder that holds all of them, or the path of the only one. */
  readonly path: string;
  readonly files: number;
  /** Entries of the machine that are removed for the plan's commands. */
  readonly removed: number;
  readonly bytes: number;
  /** It is a cache or a temporary folder. */
  readonly cache?: true;
}

/** What commands wrote outside of a plan, in few words. */
export interface OutsideSummary {
  /** How many files, without those that are removed. */
  readonly files: number;
  /** Where they are; what is no cache comes first. */
  readonly places: readonly OutsideGroup[];
}

/** More places than a person reads: then only the folders with layers count. */
const MOST_PLACES = 8;

/** Puts files together: each cache is a place, and so is each entry of the home with something in it. */
export function summaryOf(found: Iterable<FoundOutside>): OutsideSummary {
  const all = [...found];
  const fine = placesBy(all, ({ cacheAt, layer, path }) => cacheAt ?? topBelow(layer.at, path));
  const isTooMany = fine.filter(({ cache }) => cache !== true).length > MOST_PLACES;
  const places = isTooMany ? placesBy(all, ({ cacheAt, layer }) => cacheAt ?? layer.at) : fine;
  return {
    files: all.filter(({ kind }) => kind !== "removed").length,
    places: places.toSorted((a, b) => Number(a.cache ?? false) - Number(b.cache ?? false)),
  };
}

/** Whether something was written that is worth more than a cache. */
export function leavesWork({ places }: OutsideSummary): boolean {
  return places.some(({ cache }) => cache !== true);
}

function placesBy(
  all: readonly FoundOutside[],
  keyOf: (file: FoundOutside) => string,
): readonly OutsideGroup[] {
  const places = new Map<string, OutsideGroup>();
  for (const file of all) {
    const key = keyOf(file);
    const known = places.get(key);
    const isRemoved = file.kind === "removed";
    places.set(key, {
      path: file.cacheAt ?? (known === undefined ? file.path : folderOf(known.path, file.path)),
      files: (known?.files ?? 0) + (isRemoved ? 0 : 1),
      removed: (known?.removed ?? 0) + (isRemoved ? 1 : 0),
      bytes: (known?.bytes ?? 0) + file.bytes,
      ...(file.cache && { cache: true }),
    });
  }
  return [...places.values()];
}

/** The entry of `folder` that holds `path`. */
function topBelow(folder: string, path: string): string {
  const end = path.indexOf("/", folder.length + 1);
  return end === -1 ? path : path.slice(0, end);
}

/** The innermost folder that holds both. */
function folderOf(one: string, other: string): string {
  let at = one;
  while (!isAtOrBelow(other, at) || at === other) at = parentPath(at);
  return at;
}
