import { LOSSES } from "../core/capabilities.ts";
import type { Bench } from "./bench.ts";

/** What a case is about, in the order in which the groups run. */
export const CONFORMANCE_GROUPS = [
  "contract",
  "life cycle",
  "isolation",
  "diff",
  "path safety",
  "exactness",
  "nothing to commit",
  "two-phase",
  "undo",
  "parts",
  "checkpoints",
  "conflicts",
  "concurrency",
  "crash",
  "late requests",
] as const;

export type ConformanceGroup = (typeof CONFORMANCE_GROUPS)[number];

/**
 * What a strategy must be able to do for a case to make sense; it says so by its capabilities, or by having
 * the method.
 * - `isolation`: the original is not worked on in place.
 * - `two-phase`, `undo`, `partial`, `checkpoint`: as in the capabilities.
 * - `path`: its resources and sandboxes are folders, and programs can work in them.
 * - `process`: the suite knows where its module is, so that another process can load it.
 * - `gate`: what it sends to a server passes a gate of the suite.
 * - the others: that this is not among what it declares to lose.
 */
export const CONFORMANCE_NEEDS = [
  "isolation",
  "two-phase",
  "undo",
  "partial",
  "checkpoint",
  "path",
  "process",
  "gate",
  ...LOSSES,
] as const;

export type ConformanceNeed = (typeof CONFORMANCE_NEEDS)[number];

/** One thing that has to hold for a strategy. Plain data, for any test runner. */
export interface ConformanceCase {
  /** A sentence in the present tense, unique in the suite. */
  readonly name: string;
  readonly group: ConformanceGroup;
  readonly needs: readonly ConformanceNeed[];
  /** Passes by returning, and fails by throwing. Gets a bench of its own. */
  readonly run: (bench: Bench) => Promise<void>;
}
