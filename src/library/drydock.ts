import type { RecoveryReport } from "../commit/recovery.ts";
import type { TrustedConfig } from "../config/settings-in-force.ts";
import type { FullCapabilities } from "../core/capabilities.ts";
import type { StrategyUnavailableError } from "../core/errors/errors.ts";
import type { ResourceType } from "../core/resource/resource-types.ts";
import type { Progress, SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import type { Notice } from "../core/values/notice.ts";
import type { PlanEvent } from "../core/values/plan-events.ts";
import type { WaitingPlan } from "../fleet/host/fleet-services.ts";
import type { FleetHost } from "../fleet/link/hosts.ts";
import type { DoctorReport } from "../plans/doctor.ts";
import type {
  CleanupItem,
  CleanupOptions,
  CleanupStatus,
  EventsOptions,
  IdlePlan,
  PurgeResult,
} from "../plans/plan-views.ts";
import type { ExplainRunRequest, RunExplanation } from "../run/policy/explain.ts";
import type { RunOutcome, RunRequest } from "../run/run-once.ts";
import type { CheckRequest } from "../testing/check.ts";
import type { ConformanceReport } from "../testing/run-conformance.ts";
import type { Plans } from "./plan.ts";

/** The options of `openDrydock`. */
export interface DrydockOptions {
  /**
   * The state directory. Default: DRYDOCK_STATE_DIR, else $XDG_STATE_HOME/drydock, else
   * ~/.local/state/drydock, as for the command line, so that both see the same plans.
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
   * The environment: the variables above, HOME, those that a config refers to, and those that git and
   * commands inside a plan get. Default: the environment of the process; `{}` is an empty one. The variables
   * by which tests make Drydock fail are never read.
   */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** The name of this process in messages to others. Default: "drydock". */
  readonly command?: string;
  /** Called with the progress of long work. */
  readonly onProgress?: (progress: Progress) => void;
  /** Called with messages for the user that no call returns. */
  readonly onNotice?: (notice: Notice) => void;
  /** Aborting it before the decision of a commit is a clean failure; after it, the commit finishes. */
  readonly signal?: AbortSignal;
  /** Custom strategies, each made with the context that it needs. */
  readonly strategies?: readonly MakeStrategy[];
  readonly now?: () => Date;
  /**
   * The caller is going to free space, for example by cancelling plans: on a full disk it may use a reserve
   * that is kept for that.
   */
  readonly makesRoom?: boolean;
}

/** Makes a strategy with the context that it needs. */
export type MakeStrategy = (context: StrategyContext) => SandboxStrategy;

/** An open state directory, with everything that Drydock can do. */
export interface Drydock extends AsyncDisposable {
  readonly stateDir: string;
  readonly plans: Plans;
  /** Makes a plan for one command, runs the command inside, and lands, keeps or throws away its changes. */
  run(request: RunRequest): Promise<RunOutcome>;
  /** What a command of `run` would be allowed, and which line or profile says so. Runs nothing. */
  explain(request: ExplainRunRequest): Promise<RunExplanation>;

  /**
   * What happens to plans, whichever process does it: from the beginning or behind a cursor, in order, each
   * event once and none left out. It goes on until its signal or `close` ends it.
   */
  events(options?: EventsOptions): AsyncIterable<PlanEvent>;

  /** What opening settled of the work of dead processes. */
  readonly recovery: RecoveryReport;
  /** Settles what processes that died since left unfinished. */
  recover(): Promise<RecoveryReport>;
  readonly cleanup: Cleanup;

  /** The hosts of the fleet that the config names. Without one, each of these is refused. */
  readonly hosts: Hosts;
  readonly strategies: Strategies;
  readonly resourceTypes: ResourceTypeList;
  /** What works on this machine. */
  doctor(): Promise<DoctorReport>;
  /** Trusts the present content of a config, and of the files that are loaded with its modules. */
  trust(file: string): Promise<TrustedConfig>;

  /** Closes the state directory; later calls on its plans fail. `await using` closes it too. */
  close(): Promise<void>;
}

/**
 * Finds and removes leftovers of everything that Drydock makes. It never touches what Drydock did not make or
 * what an open plan or a running command needs; and, without `force`, nothing that may hold the only copy of
 * a user's work.
 */
export interface Cleanup {
  /** All leftovers, oldest first. Changes nothing. */
  scan(options?: Pick<CleanupOptions, "olderThanMs">): Promise<readonly CleanupItem[]>;
  /** Removes leftovers. A failure does not stop the rest. */
  purge(options?: CleanupOptions): Promise<PurgeResult>;
  /**
   * Open plans to which nothing has happened for this long (default: two weeks), with last use, size and
   * owner.
   */
  idlePlans(options?: Pick<CleanupOptions, "olderThanMs">): Promise<readonly IdlePlan[]>;
  /** The number and size of sandboxes, undo records and leftovers. */
  status(): Promise<CleanupStatus>;
}

/** The hosts of a fleet. */
export interface Hosts {
  /** Every host; `host` is this one. */
  list(): Promise<{ readonly host: string; readonly hosts: readonly FleetHost[] }>;
  /** A host, and the plans that wait for it. Default: this one. */
  show(name?: string): Promise<FleetHost & { readonly plans: readonly WaitingPlan[] }>;
  /** Lets a host take no new sandboxes; what it has goes on. */
  drain(name: string): Promise<FleetHost>;
  /** Lets it take new ones again. */
  undrain(name: string): Promise<FleetHost>;
  /** Forgets a host that is gone for good. Refused while it is up, or while plans wait for it. */
  remove(name: string): Promise<void>;
}

/** The known strategies, built-in and custom. */
export interface Strategies {
  /** Every strategy, strongest first, and the strategies of a config that can't be used. */
  list(): Promise<StrategyList>;
  has(name: string): boolean;
  /** Registers a custom strategy by its name. */
  register(make: MakeStrategy): void;
  /** Removes a strategy by its name. */
  remove(name: string): void;
  /** Runs the conformance suite on a strategy: by its name, or by `MODULE:CLASS`. */
  check(strategy: string, request?: CheckRequest): Promise<ConformanceReport>;
}

export interface StrategyList {
  readonly strategies: readonly StrategyView[];
  readonly unusable: readonly { readonly name: string; readonly error: StrategyUnavailableError }[];
}

export interface StrategyView {
  readonly name: string;
  readonly builtIn: boolean;
  readonly version?: string;
  readonly capabilities: FullCapabilities;
}

/** The known types of resource: the built-in ones, and those of the config. */
export interface ResourceTypeList {
  list(): readonly ResourceType[];
  has(name: string): boolean;
  /** A type. An undeclared type may be known to a custom strategy. */
  get(name: string): ResourceType;
  /** Whether resources of type `parent` may contain those of type `child`. */
  mayContain(parent: string, child: string): boolean;
}
