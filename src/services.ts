import type { AbandonReport } from "./commit/cleanup/abandonment.ts";
import type { RecoveryReport } from "./commit/recovery.ts";
import type { TrustedConfig } from "./config/settings-in-force.ts";
import type { ResourceTypes } from "./core/resource/resource-types.ts";
import type { Progress, SandboxStrategy, StrategyContext } from "./core/strategy.ts";
import type { Notice } from "./core/values/notice.ts";
import type { PlanEvent } from "./core/values/plan-events.ts";
import type { FleetServices } from "./fleet/host/fleet-services.ts";
import type { CheckpointService } from "./plans/checkpoints/checkpoint-service.ts";
import type { CleanupService } from "./plans/cleanup/cleanup-service.ts";
import type { DoctorReport } from "./plans/doctor.ts";
import type { PlanEntries } from "./plans/entries/plan-entries.ts";
import type { EventsOptions, PlanLog } from "./plans/plan-views.ts";
import type { Plans } from "./plans/plans.ts";
import type { PlanReviews } from "./plans/review/plan-reviews.ts";
import type { SandboxManager } from "./plans/sandbox-manager.ts";
import type { PlanScratch } from "./plans/scratch/plan-scratch.ts";
import type { PlanUpdates } from "./plans/updates/plan-updates.ts";
import type { CaptureRequest, CaptureResult } from "./run/capture.ts";
import type { DetachedCommands } from "./run/detached/detached-commands.ts";
import type { ExecRequest, ExecResult } from "./run/exec.ts";
import type { ExplainRequest, ExplainRunRequest, RunExplanation } from "./run/policy/explain.ts";
import type { RunHow, RunOutcome, RunRequest } from "./run/run-once.ts";
import type { SpawnedCommand, SpawnHow, SpawnRequest } from "./run/spawn.ts";
import type { Operations } from "./sandboxes/access/operations.ts";
import type { SandboxStrategyRegistry } from "./strategies/registry.ts";
import type { CheckRequest } from "./testing/check.ts";
import type { ConformanceReport } from "./testing/run-conformance.ts";

/** The options of `openServices`. */
export interface ServicesOptions {
  /**
   * The state directory. Default: DRYDOCK_STATE_DIR, else $XDG_STATE_HOME/drydock, else
   * ~/.local/state/drydock.
   */
  readonly stateDir?: string;
  /**
   * A config file; naming it means trusting it. Default: DRYDOCK_CONFIG, else the nearest trusted
   * drydock.yaml upward.
   */
  readonly config?: string;
  /** The folder for relative paths. Default: the current folder. */
  readonly cwd?: string;
  /**
   * Default: that of the process. Its DRYDOCK_FAILPOINT and DRYDOCK_FAILPOINT_TRACE arm the failpoints
   * (failpoints.ts).
   */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** The name of this process in messages to others. Default: "drydock". */
  readonly command?: string;
  readonly onProgress?: (progress: Progress) => void;
  readonly onNotice?: (notice: Notice) => void;
  /** Aborting it before the decision of a commit is a clean failure; after it, the commit finishes. */
  readonly signal?: AbortSignal;
  /** Custom strategies of the program, each made with the context that it needs. */
  readonly strategies?: readonly ((context: StrategyContext) => SandboxStrategy)[];
  readonly now?: () => Date;
  /** It works for a command inside a plan, and the history says so. */
  readonly inside?: boolean;
  /**
   * The caller is going to free space, for example by cancelling plans: on a full disk it may use a reserve
   * that is kept for that.
   */
  readonly makesRoom?: boolean;
  /** Work on the state of this machine alone, although the config names a fleet. */
  readonly local?: boolean;
  /** This process is the service of its host in the fleet. */
  readonly isHostService?: boolean;
}

/**
 * An open state directory, with everything that Drydock can do: the command line shows it to people, and
 * library/ to programs. A plan is named by its id, a unique prefix of it, or its name; without one, the only
 * open plan is meant.
 */
export interface Services {
  readonly stateDir: string;
  /** The calls under way: runs one with its own signal and listener for progress. */
  readonly operations: Operations;
  readonly plans: Plans;
  /** Single entries of sandboxes. */
  readonly entries: Pick<PlanEntries, keyof PlanEntries>;
  readonly checkpoints: Pick<CheckpointService, keyof CheckpointService>;
  /** What persons say about changes before they land. Loaded when it is used. */
  reviews(): Promise<PlanReviews>;
  /** Merging what other writers changed meanwhile. */
  readonly updates: Pick<PlanUpdates, "update" | "resolve">;
  /** What commands wrote outside of the resources of their plan. */
  readonly scratch: Pick<PlanScratch, keyof PlanScratch>;
  readonly cleanup: Pick<CleanupService, keyof CleanupService>;
  readonly sandboxes: Pick<SandboxManager, keyof SandboxManager>;
  readonly registry: SandboxStrategyRegistry;
  /** Registers a custom strategy, made with the context that it needs. */
  register(make: (context: StrategyContext) => SandboxStrategy): void;
  /** The known types of resource: the built-in ones, and those of the config. */
  readonly resourceTypes: ResourceTypes;
  /** Runs a command inside the sandboxes of a plan, each in the place of its original. */
  exec(plan: string | undefined, request: ExecRequest): Promise<ExecResult>;
  /** The same, with its output captured. */
  capture(plan: string | undefined, request: CaptureRequest): Promise<CaptureResult>;
  /** Starts a command inside, with streams for the caller. */
  spawn(plan: string | undefined, request: SpawnRequest, how?: SpawnHow): Promise<SpawnedCommand>;
  /** Commands that go on without the process that started them. */
  readonly detached: Pick<DetachedCommands, keyof DetachedCommands>;
  /** Makes a plan for one command, runs the command inside, and lands, keeps or throws away its changes. */
  run(request: RunRequest, how?: RunHow): Promise<RunOutcome>;
  /** What a command would be allowed, and what says so. Runs nothing. */
  explain(request: ExplainRunRequest): Promise<RunExplanation>;
  /** The same for a command inside a plan. */
  explainExec(plan: string | undefined, request: ExplainRequest): Promise<RunExplanation>;
  /** What opening settled of the work of dead processes. */
  readonly recovery: RecoveryReport;
  /** Settles what dead processes left unfinished. */
  recover(): Promise<RecoveryReport>;
  /** Settles a plan in doubt by a person's word. */
  settle(plan: string, how: "commit" | "abort"): Promise<RecoveryReport>;
  /** Ends a plan as it is by a person's word, and reports what may remain of it. */
  abandon(plan: string): Promise<AbandonReport>;
  /** The history of a plan, also of one that is over. */
  log(plan?: string): Promise<PlanLog>;
  /**
   * What happens to plans, by any process: from the beginning or behind a cursor, in order, and as it goes
   * on, until the signal or the end of these services.
   */
  events(options?: EventsOptions): Promise<AsyncIterable<PlanEvent>>;
  /** What works on this machine. */
  doctor(): Promise<DoctorReport>;
  /** Runs the conformance suite on a strategy: by its name, or by `MODULE:CLASS`. */
  check(strategy: string, request?: CheckRequest): Promise<ConformanceReport>;
  /** Trusts the present content of a config, and of the files that are loaded with its modules. */
  trust(file: string): Promise<TrustedConfig>;
  /** The fleet that this machine is a host of, if the config names one. */
  readonly fleet?: Pick<FleetServices, keyof FleetServices>;
  close(): Promise<void>;
}
