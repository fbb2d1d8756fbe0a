/** The library for programs: its functions, its errors, and the types that they use. */

export type { AbandonedOriginal } from "./commit/cleanup/abandoned-original.ts";
export type { AbandonedResource, AbandonReport } from "./commit/cleanup/abandonment.ts";
export type { RemainingSandbox } from "./commit/cleanup/plan-closing.ts";
export type { UndoOptions } from "./commit/commit-all.ts";
export type { RecoveredPlan, RecoveryReport } from "./commit/recovery.ts";
export type { TrustedConfig } from "./config/settings-in-force.ts";
export type { TrustedModule } from "./config/trust/trust-records.ts";
export type {
  FullCapabilities,
  Loss,
  OnePhaseCapabilities,
  RunningOperation,
  StrategyCapabilities,
  TwoPhaseCapabilities,
} from "./core/capabilities.ts";
export type { ExactPart } from "./core/change.ts";
export {
  type Change,
  type ChangeFacts,
  type ChangeKind,
  type ChangeOperation,
  type ChangeSide,
  type DiffStats,
  type DiffView,
  statsOf,
  type TakeChange,
} from "./core/change.ts";
export type { LastCheckpoint, SavedCheckpoint } from "./core/checkpoint.ts";
export { CheckFailedError } from "./core/errors/check-failed-error.ts";
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
export { bytesFromPath, displayPath, pathFromBytes } from "./core/paths/byte-path.ts";
export type { PlanLabels, PlanState } from "./core/plan.ts";
export type { BindView, LayersView, ProgramView } from "./core/program-view.ts";
export type { AwaitedHost } from "./core/resource/awaited-host.ts";
export type { Entry } from "./core/resource/entry.ts";
export type { LentResource } from "./core/resource/lending.ts";
export type { PlainData, PlainRecord, Resource } from "./core/resource/resource.ts";
export type {
  ResourceCapability,
  ResourceType,
  ResourceTypeDefinition,
} from "./core/resource/resource-types.ts";
export type { MadeWith, SandboxRecord, SandboxRef } from "./core/sandbox.ts";
export { SANDBOX_MOVES, SANDBOX_STATES, type SandboxState } from "./core/sandbox-states.ts";
export type { Protection } from "./core/self-running/protected-paths.ts";
export type { SelfRunningFile } from "./core/self-running/self-running-rules.ts";
export type {
  Attention,
  CommitFacts,
  CommitResult,
  IntendedPlace,
  LandedSide,
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
  Browsable,
  Enterable,
  Inspectable,
  ListedPage,
  Mergeable,
  ProbeResult,
  Probing,
  Queryable,
  Reachable,
  Receiving,
  StrategyWay,
  Tabular,
  TakenEntry,
} from "./core/strategy-abilities.ts";
export { BUILT_IN_STRATEGY_NAMES, type BuiltInStrategyName } from "./core/strategy-names.ts";
export type { GitPolicy, LandingPolicy, TransactionPolicy } from "./core/strategy-policies.ts";
export type { LastingResource } from "./core/transaction.ts";
export type {
  ChangedColumn,
  ChangedDefinition,
  ChangedRow,
  ChangedRows,
  RowRange,
  ShownValue,
} from "./core/values/changed-rows.ts";
export type { CheckResult } from "./core/values/checks.ts";
export type { LimitName, Limits } from "./core/values/limits.ts";
export type { MergePolicy, Resolution, ResolveReport, UpdateReport } from "./core/values/merge.ts";
export type { ConfigRemedy, Notice } from "./core/values/notice.ts";
export type {
  CheckpointMark,
  EndedTransaction,
  EventDetails,
  EventFacts,
  EventName,
  FailedTransaction,
  PlanEvent,
  PlanLogEntry,
  ResourceReport,
} from "./core/values/plan-events.ts";
export type { DatabaseValue, StatementResult } from "./core/values/query.ts";
export type { DeniedRequest, NetworkMode, PolicyLine, ProfileName } from "./core/values/run-policy.ts";
export type { WaitingPlan } from "./fleet/host/fleet-services.ts";
export type { FleetHost } from "./fleet/link/hosts.ts";
export type { CallOptions } from "./library/call-options.ts";
export type { DetachedCommand, DetachOptions, OutputOptions } from "./library/detached-command.ts";
export type {
  Cleanup,
  Drydock,
  DrydockOptions,
  Hosts,
  MakeStrategy,
  ResourceTypeList,
  Strategies,
  StrategyList,
  StrategyView,
} from "./library/drydock.ts";
export { openDrydock } from "./library/open-drydock.ts";
export type { CancelOptions, Plan, PlanSweeps, Plans, ResourceHandle, Review } from "./library/plan.ts";
export type {
  Content,
  RunOptions,
  SpawnOptions,
  Workspace,
} from "./library/workspace.ts";
export type { DiffPage, DiffPageOptions } from "./plans/diff-page.ts";
export type { DoctorReport } from "./plans/doctor.ts";
export type { EntryList, ListOptions, ReadRange } from "./plans/entries/entry-views.ts";
export type { ApplyOptions, ApplyResult, LandedView, ParticipantResult } from "./plans/landing-views.ts";
export type { WantedLabels } from "./plans/plan-labels.ts";
export type {
  AddOptions,
  CheckpointOptions,
  CheckpointResult,
  CheckpointView,
  CleanupItem,
  CleanupOptions,
  CleanupStatus,
  CreatePlanOptions,
  DetachedView,
  DiffOptions,
  EventsOptions,
  IdlePlan,
  ListPlansOptions,
  PatchOptions,
  PlanChange,
  PlanDiff,
  PlanLog,
  PlanRename,
  PlanResourceView,
  PlanView,
  PurgeResult,
  ResourceRequest,
  RestoreResult,
  RunEnd,
  SavedView,
  SelfRunningChange,
  SinceChange,
} from "./plans/plan-views.ts";
export type {
  Approval,
  ApproveOptions,
  ReviewRequest,
  ReviewRequestOptions,
  ReviewState,
} from "./plans/review/approval-views.ts";
export type { ChangeAddress, ChangeSideAddress } from "./plans/review/change-content.ts";
export type { ChangedRowsOptions, ChangedRowsPage } from "./plans/review/changed-rows.ts";
export type {
  ChangesAskedRequest,
  CommentEdit,
  CommentRequest,
  CommentTarget,
  PlanReview,
  ReviewComment,
  ReviewedChange,
  ReviewedHunk,
  ReviewedHunks,
  ReviewPage,
  ReviewTarget,
  ReviewTargets,
  ReviewVerdict,
  TargetCount,
  Vote,
  VoteCount,
  VoteRequest,
} from "./plans/review/review-views.ts";
export type { ScratchList } from "./plans/scratch/plan-scratch.ts";
export type {
  ResolveOptions,
  ResolveResult,
  RollbackOptions,
  RollbackResult,
  RolledBackPart,
  UpdatedPath,
  UpdateResult,
} from "./plans/updates/update-views.ts";
export type { CaptureRequest, CaptureResult } from "./run/capture.ts";
export type { DetachRequest } from "./run/detached/detached-start.ts";
export type { DetachedOutput } from "./run/detached/output-reading.ts";
export type { ExecRequest, ExecResult, RunningCommand } from "./run/exec.ts";
export type {
  ExplainedDestination,
  ExplainedLine,
  ExplainedPort,
  ExplainedVariable,
  ExplainRequest,
  ExplainRunRequest,
  RunExplanation,
} from "./run/policy/explain.ts";
export type { NetworkWish } from "./run/policy/network-policy.ts";
export type { RunApplyOptions, RunDecision, RunFinding, RunOutcome, RunRequest } from "./run/run-once.ts";
export type { SpawnedCommand, SpawnRequest } from "./run/spawn.ts";
export type { KnownPlace } from "./sandboxes/remains/known-places.ts";
export type { OutsideFile } from "./sandboxes/scratch/outside-files.ts";
export type { OutsideGroup, OutsideSummary } from "./sandboxes/scratch/outside-places.ts";
export type { SweepReport } from "./sandboxes/sweep-report.ts";
export type { CapturedOutput } from "./system/terminal/bounded-output.ts";
export type { WindowSize } from "./system/terminal/program-streams.ts";
export type { CheckRequest } from "./testing/check.ts";
export type { ConformanceGroup } from "./testing/conformance-case.ts";
export type { CaseResult, ConformanceReport } from "./testing/run-conformance.ts";
