import { LOSSES } from "../core/capabilities.ts";
import type { Bench } from "./bench.ts";

/** The subjects of the cases, in the order in which the groups run. */
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
 * What a case needs of a strategy, which declares it by its capabilities or by having the method.
 * - `isolation`: work does not happen in the original.
 * - `two-phase`, `undo`, `partial`, `checkpoint`: as in the capabilities.
 * - `path`: its resources and sandboxes are folders, and programs can work in them.
 * - `entries`: it has the methods for single entries (`Browsable`).
 * - `process`: the suite knows its module, so that another process can load it.
 * - `gate`: its requests to a server pass a gate of the suite.
 * - the losses: the strategy does not declare this loss.
 */
export const CONFORMANCE_NEEDS = [
  "isolation",
  "two-phase",
  "undo",
  "partial",
  "checkpoint",
  "path",
  "entries",
  "process",
  "gate",
  ...LOSSES,
] as const;

export type ConformanceNeed = (typeof CONFORMANCE_NEEDS)[number];

/** One requirement of the contract. Plain data, for any test runner. */
export interface ConformanceCase {
  /** A sentence in the present tense, unique in the suite. */
  readonly name: string;
  readonly group: ConformanceGroup;
  readonly needs: readonly ConformanceNeed[];
  /** Passes by returning, fails by throwing. Every case gets a bench of its own. */
  readonly run: (bench: Bench) => Promise<void>;
}
