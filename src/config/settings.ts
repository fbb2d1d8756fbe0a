import type { PlainData } from "../core/resource/resource.ts";
import type { ResourceTypeDefinition } from "../core/resource/resource-types.ts";
import type { GitPolicy, LandingPolicy, TransactionPolicy } from "../core/strategy-policies.ts";
import type { Limits } from "../core/values/limits.ts";

/**
 * What drydock.yaml can say, as the rest of Drydock sees it, and the defaults of all of it. The schema, the
 * JSON Schema and the file that `drydock init` writes take their defaults from here. Nothing is imported that
 * costs a start without a config anything.
 */

/**
 * When sandboxes are removed by themselves:
 * - `on_apply`: once their plan is applied, or cancelled.
 * - `on_terminal`: once their plan is over for good: undone, cancelled, or applied and no longer to be
 *   undone. Until then what was done can be looked at.
 * - `manual`: never; `drydock cleanup purge` removes them.
 */
export const CLEANUP_POLICIES = ["on_apply", "on_terminal", "manual"] as const;
export type CleanupPolicy = (typeof CLEANUP_POLICIES)[number];

/** What a checkpoint can be made before, by itself. `exec`: a command that runs inside the plan. */
export const CHECKPOINT_OCCASIONS = ["exec"] as const;
export type CheckpointOccasion = (typeof CHECKPOINT_OCCASIONS)[number];

/** The choice of strategy that leaves it to Drydock: the strongest that works. */
export const AUTOMATIC_STRATEGY = "auto";

/**
 * What the sandbox of a git checkout begins with:
 * - `head`: the commit that is checked out.
 * - `checkout`: the files as they are, uncommitted and untracked ones included.
 */
export const RESOURCE_STARTS = ["head", "checkout"] as const;
export type ResourceStart = (typeof RESOURCE_STARTS)[number];

export interface SandboxSettings extends LandingPolicy {
  /** "auto", the name of a built-in strategy, or that of one of `customStrategies`. */
  readonly strategy: string;
  readonly cleanup: CleanupPolicy;
  /** `[RESOURCE:]PATTERN` each: what may land though tools run it by themselves. */
  readonly allowSelfRunning: readonly string[];
  readonly checkpoint: {
    readonly autoCreateOn: readonly CheckpointOccasion[];
    /** How many are kept of a plan; the oldest go first. */
    readonly keep: number;
  };
  readonly undo: {
    /** How long an applied plan can be undone. */
    readonly keepMilliseconds: number;
  };
  readonly git: GitPolicy;
  readonly transaction: TransactionPolicy;
  /** Of every command that runs inside, unless it is given others. */
  readonly limits: Limits;
  readonly customStrategies: readonly CustomStrategy[];
}

/** A strategy of the user's own. */
export interface CustomStrategy {
  readonly name: string;
  /**
   * As it was written: a path relative to the config's folder (it begins with "." or "/"), or the name of a
   * package.
   */
  readonly module: string;
  /** The export of the module that is the class. */
  readonly className: string;
  /** What the strategy gets as its options. */
  readonly options?: { readonly [key: string]: PlainData };
  /** How long one call of it may take. */
  readonly limitMilliseconds: number;
  /** What `module` is relative to, or where its package is installed. */
  readonly folder: string;
  /** Where it is declared, for errors that are found later: the file, line and column. */
  readonly place: string;
}

/** How long one call of a strategy of the user's own may take, unless the config says otherwise. */
export const DEFAULT_CALL_LIMIT_MS = 30 * 60_000;

/** A resource that commands can use by its name. */
export interface DeclaredResource {
  readonly name: string;
  /** An absolute path, or a URL. */
  readonly location: string;
  /** A built-in type or one of `resourceTypes`. Absent: detected. */
  readonly type?: string;
  /** As in `SandboxSettings.strategy`. Absent: that of its type, else the general one. */
  readonly strategy?: string;
  /** What its sandbox begins with; see `RESOURCE_STARTS`. */
  readonly from?: ResourceStart;
  /** The name of the declared resource that contains this one. */
  readonly parent?: string;
}

/** Everything that can be set. */
export interface Settings {
  readonly sandbox: SandboxSettings;
  readonly resources: readonly DeclaredResource[];
  readonly resourceTypes: readonly ResourceTypeDefinition[];
}

/** The settings of one config file. */
export interface Config extends Settings {
  /** The real path of the file. */
  readonly file: string;
}

/** What holds without a config, and for every key that a config leaves out. */
export const DEFAULT_SETTINGS: Settings = {
  sandbox: {
    strategy: AUTOMATIC_STRATEGY,
    cleanup: "on_apply",
    allowSetid: false,
    allowDevices: false,
    allowSelfRunning: [],
    checkpoint: { autoCreateOn: ["exec"], keep: 20 },
    undo: { keepMilliseconds: 7 * 86_400_000 },
    git: { fastForward: false, runHooks: false, limitMilliseconds: 60_000 },
    transaction: { idleMilliseconds: 30 * 60_000, ageMilliseconds: 8 * 3_600_000 },
    limits: {},
    customStrategies: [],
  },
  resources: [],
  resourceTypes: [],
};
