/** What a strategy of your own imports: the contract and the errors it throws, and nothing that runs. */

export type { StrategyCapabilities } from "./core/capabilities.ts";
export type { Change, ChangeFacts, ChangeKind, ChangeOperation, DiffView } from "./core/change.ts";
export * from "./core/errors.ts";
export { PathPatterns } from "./core/path-patterns.ts";
export type { DatabaseValue, StatementResult } from "./core/query.ts";
export type { PlainData, Resource } from "./core/resource.ts";
export { assertResourcePath } from "./core/resource-path.ts";
export { type SandboxRef, sandboxIdFor } from "./core/sandbox.ts";
export type {
  Attention,
  CommitResult,
  IntendedPlace,
  LandingPolicy,
  LastCheckpoint,
  LayersView,
  PlaceView,
  PreparedCommit,
  ProbeResult,
  ProgramView,
  Progress,
  SandboxStrategy,
  SavedCheckpoint,
  StrategyContext,
  StrategyWay,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "./core/strategy.ts";
