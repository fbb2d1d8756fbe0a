import type { RecoveryReport } from "../commit/recovery.ts";
import type { TrustedConfig } from "../config/settings-in-force.ts";
import type { FullCapabilities } from "../core/capabilities.ts";
import type { StrategyUnavailableError } from "../core/errors/errors.ts";
import type { ResourceType } from "../core/resource/resource-types.ts";
import type { Progress, SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import type { Notice } from "../core/values/notice.ts";
import type { DoctorReport } from "../plans/doctor.ts";
import type { CleanupItem, CleanupOptions, CleanupStatus, PurgeResult } from "../plans/plan-views.ts";
import type { RunOutcome, RunRequest } from "../run/run-once.ts";
import type { CheckRequest } from "../testing/check.ts";
import type { ConformanceReport } from "../testing/run-conformance.ts";
import type { Plans } from "./plan.ts";

/** What Drydock is opened with. All of it may be left out. */
export interface DrydockOptions {
  /**
   * Where Drydock keeps its state. Default: DRYDOCK_STATE_DIR, else $XDG_STATE_HOME/drydock, else
   * ~/.local/state/drydock, as for the command line, so that both see the same plans.
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
   * What is read of the environment: the variables above, HOME, those that a config refers to, and what git
   * and commands inside a plan get. Default: the environment of the process; `{}` is none of it. The
   * variables by which tests make Drydock fail are never read.
   */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** What this process is, for messages to others. Default: "drydock". */
  readonly command?: string;
  /** Told how far long work has come. */
  readonly onProgress?: (progress: Progress) => void;
  /** Told what the user should know, and no call returns. */
  readonly onNotice?: (notice: Notice) => void;
  /** Aborting it before the decision of a commit is a clean failure; after it, the commit finishes. */
  readonly signal?: AbortSignal;
  /** Strategies of your own, each made with the context it needs. */
  readonly strategies?: readonly MakeStrategy[];
  readonly now?: () => Date;
  /**
   * What is going to be done makes room, such as cancelling plans: on a full disk it may use a reserve that
   * is kept for that.
   */
  readonly makesRoom?: boolean;
}

/** Makes a strategy with the context that it needs. */
export type MakeStrategy = (context: StrategyContext) => SandboxStrategy;

/** An open state directory, and everything that can be done with it. */
export interface Drydock extends AsyncDisposable {
  readonly stateDir: string;
  readonly plans: Plans;
  /** Makes a plan for one command, runs it inside, and lands, keeps or throws away what it did. */
  run(request: RunRequest): Promise<RunOutcome>;

  /** What opening settled by itself of what dead processes had left. */
  readonly recovery: RecoveryReport;
  /** Settles what dead processes have left since. */
  recover(): Promise<RecoveryReport>;
  readonly cleanup: Cleanup;

  readonly strategies: Strategies;
  readonly resourceTypes: ResourceTypeList;
  /** What works on this machine. */
  doctor(): Promise<DoctorReport>;
  /** Trusts a config, and what is loaded with the modules that it names, with their present content. */
  trust(file: string): Promise<TrustedConfig>;

  /**
   * Closes the state directory; what is done with a plan afterwards fails. `await using` does it by itself.
   */
  close(): Promise<void>;
}

/**
 * What is left over of everything that Drydock ever makes, and the removal of it. It never touches what it
 * did not make, what an open plan or a running command needs, and without `force` nothing that may hold the
 * only copy of a user's work.
 */
export interface Cleanup {
  /** Everything that is left over, the oldest first. Changes nothing. */
  scan(options?: Pick<CleanupOptions, "olderThanMs">): Promise<readonly CleanupItem[]>;
  /** Removes what is left over. One that can't be removed does not stop the others. */
  purge(options?: CleanupOptions): Promise<PurgeResult>;
  /** How much of what there is. */
  status(): Promise<CleanupStatus>;
}

/** The strategies that are known, built-in or not. */
export interface Strategies {
  /** Every strategy, the strongest first, and those that a config declares and that can't be used. */
  list(): Promise<StrategyList>;
  has(name: string): boolean;
  /** Makes a strategy of your own known by its name. */
  register(make: MakeStrategy): void;
  /** Makes a name unknown. */
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

/** The types of resource that are known: the built-in ones, and those of the config. */
export interface ResourceTypeList {
  list(): readonly ResourceType[];
  has(name: string): boolean;
  /** A type. One that is not declared may be known to a strategy of your own. */
  get(name: string): ResourceType;
  /** Whether resources of the one type may be inside of those of the other. */
  mayContain(parent: string, child: string): boolean;
}
