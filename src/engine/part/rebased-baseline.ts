import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Baseline } from "../base/baseline.ts";
import { BaselineBuilder } from "../base/baseline-builder.ts";
import type { LandedPart } from "../landing/landed-part.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";
import { type BaseMove, earlierEntries } from "./base-move.ts";

/**
 * The baseline of a copied tree after a part of it has landed, or was taken back. The tree itself stays; for
 * each landed path, the baseline records the original and the copy as they are now. Costs time in proportion
 * to the whole baseline.
 */
export function rebased(baseline: Baseline, { gone, come, changed, withTime }: BaseMove): Baseline {
  const builder = new BaselineBuilder();
  // The builder needs a folder after its contents.
  const inside = (path: string) => -path.split("/").length;
  for (const entry of come.toSorted((a, b) => inside(a.path) - inside(b.path))) builder.add(entry);
  for (const entry of entriesBelow(baseline, baseline.root, ROOT_PATH, gone))
    builder.add(withTime(changed.get(entry.path) ?? entry));
  return builder.finish(() => undefined);
}

/** The entries of a baseline that a part replaces. */
export function earlierInBaseline(part: LandedPart, baseline: Baseline): CopiedEntry[] {
  const at = (path: string) => {
    const index = baseline.find(path);
    return index === undefined ? undefined : baseline.entry(index, path);
  };
  return earlierEntries(part, { at, below: (path) => baseEntriesBelow(baseline, path) });
}

/** The base entry at a path, and those below it. */
export function baseEntriesBelow(baseline: Baseline, path: string): Iterable<CopiedEntry> {
  const index = baseline.find(path);
  return index === undefined ? [] : entriesBelow(baseline, index, path, new Set());
}

/** Yields an entry after its contents. Without recursion, because folders may be very deep. */
function* entriesBelow(
  baseline: Baseline,
  top: number,
  topPath: string,
  without: ReadonlySet<string>,
): Generator<CopiedEntry> {
  const stack = [{ index: top, path: topPath, next: baseline.children(top)[0] }];
  for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
    const child = at.next;
    if (child >= baseline.children(at.index)[1]) {
      yield baseline.entry(at.index, at.path);
      stack.pop();
      continue;
    }
    at.next += 1;
    const path = joinPath(at.path, baseline.name(child));
    if (!without.has(path)) stack.push({ index: child, path, next: baseline.children(child)[0] });
  }
}
