import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Baseline } from "../base/baseline.ts";
import { BaselineBuilder } from "../base/baseline-builder.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";

/** The changes to a baseline. */
export interface Rebase {
  /** Entries to remove, with everything below them. */
  readonly gone: ReadonlySet<string>;
  /** Entries to add, in any order. The contents of an added folder are listed too. */
  readonly come: readonly CopiedEntry[];
  /** Gives the new form of each entry that stays. */
  readonly become: (entry: CopiedEntry) => CopiedEntry;
}

/** Returns a baseline with these changes. Costs time in proportion to the whole baseline. */
export function rebased(baseline: Baseline, { gone, come, become }: Rebase): Baseline {
  const builder = new BaselineBuilder();
  // The builder needs a folder after its contents.
  const inside = (path: string) => -path.split("/").length;
  for (const entry of come.toSorted((a, b) => inside(a.path) - inside(b.path))) builder.add(entry);
  for (const entry of entriesBelow(baseline, baseline.root, ROOT_PATH, gone)) builder.add(become(entry));
  return builder.finish(() => undefined);
}

/** The baseline's entries at these paths and below them. */
export function* entriesAt(baseline: Baseline, paths: Iterable<string>): Generator<CopiedEntry> {
  for (const path of paths) {
    const index = baseline.find(path);
    if (index !== undefined) yield* entriesBelow(baseline, index, path, new Set());
  }
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
