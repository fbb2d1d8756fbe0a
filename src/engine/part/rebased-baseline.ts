import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Baseline } from "../base/baseline.ts";
import { BaselineBuilder } from "../base/baseline-builder.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";

/** What becomes of a baseline. */
export interface Rebase {
  /** Entries that go, with all that is in them. */
  readonly gone: ReadonlySet<string>;
  /** Entries that come, in any order. Those in a folder that comes come with it. */
  readonly come: readonly CopiedEntry[];
  /** Entries that stay and become others. */
  readonly become: (entry: CopiedEntry) => CopiedEntry;
}

/** A baseline with some of its entries replaced. Costs as much as the baseline is large. */
export function rebased(baseline: Baseline, { gone, come, become }: Rebase): Baseline {
  const builder = new BaselineBuilder();
  // A folder has to come after all that is in it.
  const inside = (path: string) => -path.split("/").length;
  for (const entry of come.toSorted((a, b) => inside(a.path) - inside(b.path))) builder.add(entry);
  for (const entry of entriesBelow(baseline, baseline.root, ROOT_PATH, gone)) builder.add(become(entry));
  return builder.finish(() => undefined);
}

/** What a baseline has at these paths, and below. */
export function* entriesAt(baseline: Baseline, paths: Iterable<string>): Generator<CopiedEntry> {
  for (const path of paths) {
    const index = baseline.find(path);
    if (index !== undefined) yield* entriesBelow(baseline, index, path, new Set());
  }
}

/** An entry after all that is in it. Without recursion, because folders may be very deep. */
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
