/** The entry for custom strategies: the contract and the errors that they throw, and no code that runs. */

export type {
  Loss,
  OnePhaseCapabilities,
  RunningOperation,
  StrategyCapabilities,
  TwoPhaseCapabilities,
} from "./core/capabilities.ts";
export type {
  Change,
  ChangeFacts,
  ChangeKind,
  ChangeOperation,
  DiffStats,
  DiffView,
  ExactPart,
  TakeChange,
} from "./core/change.ts";
export type { LastCheckpoint, SavedCheckpoint } from "./core/checkpoint.ts";
export { ERROR_CODES, type Errno, type ErrorCode } from "./core/errors/error-codes.ts";
export {
  AtomicCommitError,
  type AtomicCommitFailure,
  BusyError,
  ConfigError,
  type Conflict,
  DrydockError,
  type DrydockErrorOptions,
  type ErrorDetails,
  GitError,
  InterruptedError,
  type ParticipantReport,
  type PendingCommit,
  PlanStateError,
  SandboxCommitError,
  SandboxConflictError,
  SandboxCreationError,
  SandboxRollbackError,
  SandboxStateError,
  SelfRunningError,
  StateError,
  StatementError,
  StrategyUnavailableError,
  SystemCallError,
  UnsupportedError,
  UsageError,
} from "./core/errors/errors.ts";
export { PathPatterns } from "./core/paths/path-patterns.ts";
export type { BindView, LayersView, ProgramView } from "./core/program-view.ts";
export type { PlainData, PlainRecord, Resource } from "./core/resource/resource.ts";
export { assertResourcePath } from "./core/resource/resource.ts";
export { type MadeWith, type SandboxRef, sandboxIdFor } from "./core/sandbox.ts";
export type { SelfRunningFile } from "./core/self-running/self-running-rules.ts";
export type {
  Attention,
  CommitFacts,
  CommitResult,
  IntendedPlace,
  OnePhaseSandboxStrategy,
  PreparedCommit,
  Progress,
  SandboxMethods,
  SandboxStrategy,
  StrategyContext,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "./core/strategy.ts";
export type {
  Enterable,
  Inspectable,
  Mergeable,
  ProbeResult,
  Probing,
  Queryable,
  Reachable,
  StrategyWay,
  Tabular,
} from "./core/strategy-abilities.ts";
export type { GitPolicy, LandingPolicy, TransactionPolicy } from "./core/strategy-policies.ts";
export type {
  ChangedColumn,
  ChangedDefinition,
  ChangedRow,
  ChangedRows,
  RowRange,
  ShownValue,
} from "./core/values/changed-rows.ts";
export type { MergePolicy, Resolution, ResolveReport, UpdateReport } from "./core/values/merge.ts";
export type { DatabaseValue, StatementResult } from "./core/values/query.ts";
