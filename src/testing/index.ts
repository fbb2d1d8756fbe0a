/** What the author of a strategy tests it with: the conformance suite as data, and a runner for it. */

export { Bench, type RecordedIntent } from "./bench.ts";
export type { ConformanceCase, ConformanceGroup, ConformanceNeed } from "./conformance-case.ts";
export { CONFORMANCE_GROUPS, CONFORMANCE_NEEDS } from "./conformance-case.ts";
export { conformanceCases } from "./conformance-cases.ts";
export { ConformanceFailure } from "./expectation.ts";
export { RequestGate } from "./request-gate.ts";
export { type CaseResult, type ConformanceOptions, type ConformanceReport, runConformance } from "./run-conformance.ts";
export type { SandboxBench } from "./sandbox-bench.ts";
export type {
  MadeContent,
  MadeFolder,
  MadeResource,
  OriginalContent,
  StrategyFactory,
  StrategyModule,
} from "./strategy-factory.ts";
export type { EntrySnapshot, TreeSnapshot } from "./tree-snapshot.ts";
export type { Steps, WorkTree } from "./work-tree.ts";
