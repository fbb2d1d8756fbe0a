import type { LentResource } from "../core/resource/lending.ts";
import type { PlainData } from "../core/resource/resource.ts";
import type { ResourceTypeDefinition } from "../core/resource/resource-types.ts";
import type { GitPolicy, LandingPolicy, TransactionPolicy } from "../core/strategy-policies.ts";
import type { Check } from "../core/values/checks.ts";
import type { Limits } from "../core/values/limits.ts";
import { DEFAULT_MERGE_POLICY, type MergePolicy } from "../core/values/merge.ts";
import type { PolicyLayer } from "../core/values/run-policy.ts";

/**
 * The settings of drydock.yaml as the rest of Drydock sees them, with all defaults. The schema, the JSON
 * Schema and the file that `drydock init` writes take their defaults from here. This file imports only what
 * is cheap, because a start without a config loads it too.
 */

/**
 * When Drydock removes sandboxes by itself:
 * - `on_apply`: when their plan is applied or cancelled.
 * - `on_terminal`: when their plan is over for good: undone, cancelled, or applied and past its undo. Until
 *   then users can look at the work.
 * - `manual`: never; `drydock cleanup purge` removes them.
 */
export const CLEANUP_POLICIES = ["on_apply", "on_terminal", "manual"] as const;
export type CleanupPolicy = (typeof CLEANUP_POLICIES)[number];

/**
 * Occasions before which Drydock makes a checkpoint by itself. `exec`: a command that runs inside the plan.
 */
export const CHECKPOINT_OCCASIONS = ["exec"] as const;
export type CheckpointOccasion = (typeof CHECKPOINT_OCCASIONS)[number];

/** The setting that leaves the choice of strategy to Drydock: the strongest that works. */
export const AUTOMATIC_STRATEGY = "auto";

/**
 * The initial content of the sandbox of a git checkout:
 * - `head`: the commit that is checked out.
 * - `checkout`: the files as they are, uncommitted and untracked ones included.
 */
export const RESOURCE_STARTS = ["head", "checkout"] as const;
export type ResourceStart = (typeof RESOURCE_STARTS)[number];

export interface SandboxSettings extends LandingPolicy {
  /** "auto", the name of a built-in strategy, or one of `customStrategies`. */
  readonly strategy: string;
  readonly cleanup: CleanupPolicy;
  /** `[RESOURCE:]PATTERN` each: files that may land although tools run them by themselves. */
  readonly allowSelfRunning: readonly string[];
  /** Whether the history of a plan keeps what its commands write. */
  readonly keepOutput: boolean;
  readonly checkpoint: {
    readonly autoCreateOn: readonly CheckpointOccasion[];
    /** How many checkpoints of a plan are kept; the oldest go first. */
    readonly keep: number;
  };
  readonly undo: {
    /** How long an applied plan can be undone. */
    readonly keepMilliseconds: number;
  };
  readonly closedPlans: {
    /** How long plans that are over stay known, with their history. */
    readonly keepMilliseconds: number;
    /** How many changes of a landing stay listed once it can't be undone. */
    readonly mostChanges: number;
  };
  readonly merge: MergePolicy;
  readonly git: GitPolicy;
  readonly transaction: TransactionPolicy;
  /** The limits of every command inside a plan that is not given others. */
  readonly limits: Limits;
  readonly customStrategies: readonly CustomStrategy[];
}

/** A strategy that the config declares. */
export interface CustomStrategy {
  readonly name: string;
  /**
   * As written in the config: a path relative to the config's folder (it begins with "." or "/"), the name of
   * a package, or a program (it begins with "exec:").
   */
  readonly module: string;
  /** The name under which the module exports the class; empty for a program. */
  readonly className: string;
  /** The options of the strategy. */
  readonly options?: { readonly [key: string]: PlainData };
  /** How long one call may take. */
  readonly limitMilliseconds: number;
  /** The folder to which `module` is relative, or in which its package is installed. */
  readonly folder: string;
  /** The file, line and column of the declaration, for errors that are found later. */
  readonly place: string;
}

/** How long one call of a custom strategy may take, unless the config says otherwise. */
export const DEFAULT_CALL_LIMIT_MS = 30 * 60_000;

/** A resource that commands can name. */
export interface DeclaredResource {
  readonly name: string;
  /** An absolute path, or a URL. */
  readonly location: string;
  /** A built-in type or one of `resourceTypes`. Absent: detected. */
  readonly type?: string;
  /** As in `SandboxSettings.strategy`. Absent: the strategy of its type, else the general one. */
  readonly strategy?: string;
  /** The initial content of its sandbox; see `RESOURCE_STARTS`. */
  readonly from?: ResourceStart;
  /** The name of the declared resource that contains this one. */
  readonly parent?: string;
}

/** The fleet that this machine is a host of. */
export interface FleetSettings {
  /** The URL of its PostgreSQL database. */
  readonly database: string;
  /** The name of this host. Absent: the machine's name. */
  readonly host?: string;
  /** What plans that were made on other hosts may use here. */
  readonly lend: readonly LentResource[];
}

/** All settings. */
export interface Settings {
  readonly sandbox: SandboxSettings;
  /** Run in this order before every landing. */
  readonly checks: readonly Check[];
  /** What commands may read, keep and know. */
  readonly run: readonly PolicyLayer[];
  readonly resources: readonly DeclaredResource[];
  readonly resourceTypes: readonly ResourceTypeDefinition[];
  /** Absent: this machine is alone. */
  readonly fleet?: FleetSettings;
}

/** The settings of one config file. */
export interface Config extends Settings {
  /** The real path of the file. */
  readonly file: string;
}

/** The settings without a config, and the defaults of absent keys. */
export const DEFAULT_SETTINGS: Settings = {
  sandbox: {
    strategy: AUTOMATIC_STRATEGY,
    cleanup: "on_apply",
    allowSetid: false,
    allowDevices: false,
    allowSelfRunning: [],
    keepOutput: true,
    checkpoint: { autoCreateOn: ["exec"], keep: 20 },
    undo: { keepMilliseconds: 7 * 86_400_000 },
    merge: DEFAULT_MERGE_POLICY,
    closedPlans: { keepMilliseconds: 90 * 86_400_000, mostChanges: 10_000 },
    git: { fastForward: false, runHooks: false, limitMilliseconds: 60_000 },
    transaction: { idleMilliseconds: 30 * 60_000, ageMilliseconds: 8 * 3_600_000 },
    limits: {},
    customStrategies: [],
  },
  checks: [],
  run: [],
  resources: [],
  resourceTypes: [],
};
