import { diffWordsWithSpace } from "diff";

/** Parts of a line: where each begins and ends. */
export type Spans = readonly (readonly [number, number])[];

/** Longer lines are compared as a whole: they are no prose, and the comparison takes its time. */
const LONGEST = 1000;
/** Lines that have less in common are better read as a whole. */
const LEAST_COMMON = 0.4;

/** The words in which two lines differ; undefined if they have little in common. */
export function wordsBetween(
  before: string,
  after: string,
): { readonly before: Spans; readonly after: Spans } | undefined {
  if (before.length > LONGEST || after.length > LONGEST) return undefined;
  const found: { readonly before: [number, number][]; readonly after: [number, number][] } = {
    before: [],
    after: [],
  };
  let [left, right, common] = [0, 0, 0];
  for (const { value, added, removed } of diffWordsWithSpace(before, after)) {
    if (removed) {
      found.before.push([left, left + value.length]);
      left += value.length;
    } else if (added) {
      found.after.push([right, right + value.length]);
      right += value.length;
    } else {
      common += value.trim().length;
      left += value.length;
      right += value.length;
    }
  }
  const longest = Math.max(before.trim().length, after.trim().length);
  return common < longest * LEAST_COMMON ? undefined : found;
}
