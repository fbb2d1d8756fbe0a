/**
 * What a strategy can do, declared by itself as data. Drydock decides by these declarations, never by the
 * name or class of a strategy.
 */
export interface StrategyCapabilities {
  /**
   * How the strategy votes in an atomic commit.
   * - `two-phase`: has prepare, commitPrepared and rollbackPrepared. Any number may take part in one commit.
   * - `one-phase`: has only commit. With `undo`, rollback takes it back; without, at most one takes part, and
   *   it goes last.
   * - `in-place`: has no commit step, because work happens in the original itself. Needs the user's word.
   */
  readonly commit: "two-phase" | "one-phase" | "in-place";
  /**
   * A landed commit can be undone later. A two-phase strategy then keeps what commitPrepared and an undo need
   * through cleanup, until discardUndo. Default: true for two-phase, else false.
   */
  readonly undo?: boolean;
  /**
   * A part of the work can land, and the rest later (`Transaction.only`). Only for two-phase with undo.
   * Default: false.
   */
  readonly partial?: boolean;
  /** checkpoint and restoreCheckpoint work. Default: true. */
  readonly checkpoint?: boolean;
  /**
   * What it can do with a sandbox while commands inside stand still, and go on with it afterwards. `apply`
   * needs `partial`: everything then lands as a part. Default: nothing; Drydock then refuses it as long as a
   * command runs.
   */
  readonly whileRunning?: readonly RunningOperation[];
  /** How the strategy isolates work from the original. Default: `copy`. */
  readonly isolation?: "view" | "copy" | "branch" | "transaction" | "none";
  /** For the automatic choice; larger is stronger. The built-ins are 0 to 60 in steps of 10. Default: 5. */
  readonly strength?: number;
  /** The types of resource that it can isolate. Default: every type. */
  readonly resourceTypes?: readonly string[];
  /**
   * Sandboxes of a folder exclude the paths inside it that are resources of their own (`properties.without`).
   * Default: false.
   */
  readonly leavesOut?: boolean;
  /** What work in a sandbox loses, compared with work on the original itself. Default: nothing. */
  readonly loses?: readonly Loss[];
  /**
   * The sandbox holds its work only in a live connection, so it prepares last among the two-phase
   * participants. Default: false.
   */
  readonly heldTransaction?: boolean;
}

/** The capabilities of a strategy with `prepare`, `commitPrepared` and `rollbackPrepared`. */
export interface TwoPhaseCapabilities extends StrategyCapabilities {
  readonly commit: "two-phase";
}

/** The capabilities of a strategy without these methods. */
export interface OnePhaseCapabilities extends StrategyCapabilities {
  readonly commit: "one-phase" | "in-place";
}

/**
 * The losses that a strategy can declare:
 * - `folder-renames`: a program can't rename a folder that came from the original; it gets EXDEV, as between
 *   file systems, and copies. Commands of `run` and `plan exec` can: a supervisor moves it for them.
 * - `linked-files`: a file with several names that is changed through one of them becomes a file of its own.
 * - `holes`: a changed sparse file is filled.
 * - `folder-times`: a folder in which an entry changed gets the time of that change.
 * - `link-attributes`: a symlink that keeps its target but changes otherwise gets the time of that change and
 *   loses its extended attributes.
 * - `read-only-folders`: a program can't change a folder that came from the original without write
 *   permission, not even as its owner.
 * - `special-files`: a program can't change or rename a FIFO, a socket or a device that came from the
 *   original.
 * - `long-names`: a program can't change an entry whose name has more than 251 bytes.
 * - `folders`: folders come and go with the files in them; empty folders and the metadata of folders are
 *   lost.
 * - `times`: landed entries get the time of the landing.
 * - `owners`: a change of owner in the sandbox does not land.
 * - `modes`: of the mode of a file, only the executable bit lands.
 * - `attributes`: extended attributes set in the sandbox do not land.
 * - `other-kinds`: entries other than files, links and folders are not in the sandbox, and do not land.
 * - `ignored-files`: files that the original's own rules ignore are not in the sandbox, and do not land.
 */
export const LOSSES = [
  "folder-renames",
  "linked-files",
  "holes",
  "folder-times",
  "link-attributes",
  "read-only-folders",
  "special-files",
  "long-names",
  "folders",
  "times",
  "owners",
  "modes",
  "attributes",
  "other-kinds",
  "ignored-files",
] as const;

export type Loss = (typeof LOSSES)[number];

/** What can be done with a plan while commands run in it. */
export const RUNNING_OPERATIONS = ["checkpoint", "restore", "apply"] as const;

export type RunningOperation = (typeof RUNNING_OPERATIONS)[number];

/** Capabilities with every default filled in. */
export type FullCapabilities = Required<Omit<StrategyCapabilities, "resourceTypes">> & {
  readonly resourceTypes: readonly string[] | "all";
};

/** One capability: its possible values, also in words for messages, and its default. */
interface CapabilityRule<T> {
  readonly values: string;
  readonly fits: (value: unknown) => boolean;
  /** Absent: the capability has to be declared. */
  readonly byDefault?: (commit: StrategyCapabilities["commit"]) => T;
}

/** Every capability, once: the compiler refuses a missing one. */
export const CAPABILITIES: {
  readonly [name in keyof FullCapabilities]: CapabilityRule<FullCapabilities[name]>;
} = {
  commit: oneOf<FullCapabilities["commit"]>({ "two-phase": true, "one-phase": true, "in-place": true }),
  undo: truth((commit) => commit === "two-phase"),
  partial: truth(() => false),
  checkpoint: truth(() => true),
  whileRunning: {
    values: `a list out of ${RUNNING_OPERATIONS.join(", ")}`,
    fits: (value) => isListOf(value, (one) => RUNNING_OPERATIONS.some((known) => known === one)),
    byDefault: () => [],
  },
  isolation: {
    ...oneOf<FullCapabilities["isolation"]>({
      view: true,
      copy: true,
      branch: true,
      transaction: true,
      none: true,
    }),
    byDefault: () => "copy",
  },
  strength: { values: "a number", fits: Number.isFinite, byDefault: () => 5 },
  resourceTypes: {
    values: "a list of names",
    fits: (value) => isListOf(value, (type) => typeof type === "string"),
    byDefault: () => "all",
  },
  leavesOut: truth(() => false),
  loses: {
    values: `a list out of ${LOSSES.join(", ")}`,
    fits: (value) => isListOf(value, (loss) => LOSSES.some((known) => known === loss)),
    byDefault: () => [],
  },
  heldTransaction: truth(() => false),
};

/** Fills in the defaults that are documented on the fields. */
export function withDefaults(declared: StrategyCapabilities): FullCapabilities {
  const given: { readonly [name: string]: unknown } = { ...declared };
  return Object.fromEntries(
    Object.entries(CAPABILITIES).map(([name, { byDefault }]) => [
      name,
      given[name] ?? byDefault?.(declared.commit),
    ]),
  ) as FullCapabilities;
}

function oneOf<T extends string>(known: { readonly [value in T]: true }): CapabilityRule<T> {
  const values = Object.keys(known);
  return { values: values.join(", "), fits: (value) => values.some((one) => one === value) };
}

function truth(byDefault: NonNullable<CapabilityRule<boolean>["byDefault"]>): CapabilityRule<boolean> {
  return { values: "true or false", fits: (value) => typeof value === "boolean", byDefault };
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}
