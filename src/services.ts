import type { AbandonReport } from "./commit/cleanup/abandonment.ts";
import type { RecoveryReport } from "./commit/recovery.ts";
import type { TrustedConfig } from "./config/settings-in-force.ts";
import type { ResourceTypes } from "./core/resource/resource-types.ts";
import type { Progress, SandboxStrategy, StrategyContext } from "./core/strategy.ts";
import type { Notice } from "./core/values/notice.ts";
import type { CheckpointService } from "./plans/checkpoints/checkpoint-service.ts";
import type { CleanupService } from "./plans/cleanup/cleanup-service.ts";
import type { DoctorReport } from "./plans/doctor.ts";
import type { PlanLog } from "./plans/plan-views.ts";
import type { Plans } from "./plans/plans.ts";
import type { SandboxManager } from "./plans/sandbox-manager.ts";
import type { ExecRequest, ExecResult } from "./run/exec.ts";
import type { RunOutcome, RunRequest } from "./run/run-once.ts";
import type { SandboxStrategyRegistry } from "./strategies/registry.ts";
import type { CheckRequest } from "./testing/check.ts";
import type { ConformanceReport } from "./testing/run-conformance.ts";

/** What the services are opened with. All of it may be left out. */
export interface ServicesOptions {
  /**
   * Where Drydock keeps its state. Default: DRYDOCK_STATE_DIR, else $XDG_STATE_HOME/drydock, else
   * ~/.local/state/drydock.
   */
  readonly stateDir?: string;
  /**
   * A config file; one that is named is trusted. Default: DRYDOCK_CONFIG, else the nearest trusted
   * drydock.yaml upward.
   */
  readonly config?: string;
  /** What relative paths are meant from. Default: the current folder. */
  readonly cwd?: string;
  /**
   * Default: that of the process. Its DRYDOCK_FAILPOINT and DRYDOCK_FAILPOINT_TRACE arm the failpoints
   * (failpoints.ts).
   */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** What this process is, for messages to others. Default: "drydock". */
  readonly command?: string;
  readonly onProgress?: (progress: Progress) => void;
  readonly onNotice?: (notice: Notice) => void;
  /** Aborting it before the decision of a commit is a clean failure; after it, the commit finishes. */
  readonly signal?: AbortSignal;
  /** Strategies of the program's own, each made with the context it needs. */
  readonly strategies?: readonly ((context: StrategyContext) => SandboxStrategy)[];
  readonly now?: () => Date;
  /**
   * What is going to be done makes room, such as cancelling plans: on a full disk it may use a reserve that
   * is kept for that.
   */
  readonly makesRoom?: boolean;
}

/**
 * An open state directory, and everything that can be done with it, in one place: the command line shows it
 * to people, and library/ to programs. Wherever a plan is asked for, its id, a unique prefix of it or its
 * name will do; without one the only open plan is meant.
 */
export interface Services {
  readonly stateDir: string;
  readonly plans: Plans;
  readonly checkpoints: CheckpointService;
  readonly cleanup: CleanupService;
  readonly sandboxes: SandboxManager;
  readonly registry: SandboxStrategyRegistry;
  /** Registers a strategy of the program's own, made with the context it needs. */
  register(make: (context: StrategyContext) => SandboxStrategy): void;
  /** The types of resource that are known: the built-in ones, and those of the config. */
  readonly resourceTypes: ResourceTypes;
  /** Runs a command inside the sandboxes of a plan, each in the place of its original. */
  exec(plan: string | undefined, request: ExecRequest): Promise<ExecResult>;
  /** Makes a plan for one command, runs it inside, and lands, keeps or throws away what it did. */
  run(request: RunRequest): Promise<RunOutcome>;
  /** What opening settled by itself of what dead processes had left. */
  readonly recovery: RecoveryReport;
  /** Settles what dead processes left. */
  recover(): Promise<RecoveryReport>;
  /** Settles by a person's word what is in doubt. */
  settle(plan: string, how: "commit" | "abort"): Promise<RecoveryReport>;
  /** Ends a plan by a person's word, whatever can't be settled of it, and says what may be left. */
  abandon(plan: string): Promise<AbandonReport>;
  /** Everything that happened to a plan, also to one that is over. */
  log(plan?: string): Promise<PlanLog>;
  /** What works on this machine. */
  doctor(): Promise<DoctorReport>;
  /** Runs the conformance suite on a strategy: by its name, or by `MODULE:CLASS`. */
  check(strategy: string, request?: CheckRequest): Promise<ConformanceReport>;
  /** Trusts a config, and what is loaded with the modules that it names, with their present content. */
  trust(file: string): Promise<TrustedConfig>;
  close(): Promise<void>;
}
