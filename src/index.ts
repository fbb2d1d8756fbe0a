export type { AbandonedResource, AbandonReport } from "./commit/abandonment.ts";
export type { RecoveredPlan, RecoveryReport } from "./commit/recovery.ts";
export type { TrustedConfig } from "./config/settings-in-force.ts";
export { bytesFromPath, displayPath, pathFromBytes } from "./core/byte-path.ts";
export type { FullCapabilities, StrategyCapabilities } from "./core/capabilities.ts";
export {
  type Change,
  type ChangeFacts,
  type ChangeKind,
  type ChangeOperation,
  type DiffStats,
  type DiffView,
  statsOf,
} from "./core/change.ts";
export type { LastCheckpoint, SavedCheckpoint } from "./core/checkpoint.ts";
export * from "./core/errors.ts";
export type { LimitName, Limits } from "./core/limits.ts";
export type { PlanState } from "./core/plan.ts";
export type { LayersView, PlaceView, ProgramView } from "./core/program-view.ts";
export type { DatabaseValue, StatementResult } from "./core/query.ts";
export type { PlainData, Resource } from "./core/resource.ts";
export type { ResourceCapability, ResourceType, ResourceTypeDefinition, ResourceTypes } from "./core/resource-types.ts";
export type { SandboxRecord, SandboxRef } from "./core/sandbox.ts";
export { SANDBOX_MOVES, SANDBOX_STATES, type SandboxState } from "./core/sandbox-states.ts";
export type { SelfRunningFile } from "./core/self-running-rules.ts";
export type {
  Attention,
  CommitResult,
  PreparedCommit,
  Progress,
  SandboxStrategy,
  StrategyContext,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "./core/strategy.ts";
export type { ProbeResult, StrategyWay } from "./core/strategy-abilities.ts";
export { BUILT_IN_STRATEGY_NAMES, type BuiltInStrategyName } from "./core/strategy-names.ts";
export type { CheckpointService } from "./plans/checkpoint-service.ts";
export type { CleanupService } from "./plans/cleanup-service.ts";
export type { DoctorReport } from "./plans/doctor.ts";
export type * from "./plans/plan-views.ts";
export type { Plans } from "./plans/plans.ts";
export type { ExecRequest, ExecResult, RunningCommand } from "./run/exec.ts";
export type { RunDecision, RunFinding, RunOutcome, RunRequest } from "./run/run-once.ts";
export { type Drydock, type DrydockOptions, openDrydock } from "./runtime.ts";
export type { CommitAllOptions, CommitAllResult, SandboxManager } from "./sandboxes/manager.ts";

export type { RegisteredStrategy, SandboxStrategyRegistry } from "./sandboxes/registry.ts";
export type { SweepReport } from "./sandboxes/sweep-report.ts";
