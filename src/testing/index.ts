/** The conformance suite as data, and a runner for it: authors of strategies test with it. */

export type { EntryKind, Facts, Time } from "../system/calls/facts.ts";
export { Bench, type RecordedIntent } from "./bench.ts";
export type { ConformanceCase, ConformanceGroup, ConformanceNeed } from "./conformance-case.ts";
export { CONFORMANCE_GROUPS, CONFORMANCE_NEEDS } from "./conformance-case.ts";
export { conformanceCases } from "./conformance-cases.ts";
export { ConformanceFailure } from "./expectation.ts";
export { RequestGate, type ServerAddress } from "./process/request-gate.ts";
export type { Victim, VictimEnd } from "./process/victim.ts";
export type { Death, VictimLine } from "./process/victim-protocol.ts";
export {
  type CaseResult,
  type ConformanceOptions,
  type ConformanceReport,
  runConformance,
} from "./run-conformance.ts";
export type { SandboxBench, SandboxHost } from "./sandbox-bench.ts";
export type {
  ContentFixture,
  FixtureParts,
  FolderFixture,
  OriginalContent,
  ResourceFixture,
  StrategyFactory,
  StrategyModule,
} from "./strategy-factory.ts";
export type { EntrySnapshot, TreeSnapshot } from "./tree/tree-snapshot.ts";
export type { Steps, WorkTree } from "./tree/work-tree.ts";
