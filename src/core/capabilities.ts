/**
 * What a strategy can do, declared by itself as data. Nobody asks for a strategy's name or class to find out.
 */
export interface StrategyCapabilities {
  /**
   * How the strategy votes in an atomic commit.
   * - `two-phase`: has prepare, commitPrepared and rollbackPrepared. Any number may take part in one commit.
   * - `one-phase`: only commit. With `undo` it can be taken back by rollback; without, at most one takes
   *   part, and it goes last.
   * - `in-place`: there is no commit step at all, because the original is worked on directly. Needs the
   *   user's word.
   */
  readonly commit: "two-phase" | "one-phase" | "in-place";
  /**
   * A landed commit can be taken back later; a two-phase strategy then keeps what commitPrepared and an undo
   * need through cleanup, until discardUndo. Default: true for two-phase, else false.
   */
  readonly undo?: boolean;
  /**
   * A part of the work can land, and the rest later (`Transaction.only`). Two-phase with undo only. Default:
   * false.
   */
  readonly partial?: boolean;
  /** checkpoint and restoreCheckpoint work. Default: true. */
  readonly checkpoint?: boolean;
  /** How the work is kept apart from the original. Default: `copy`. */
  readonly isolation?: "view" | "copy" | "branch" | "transaction" | "none";
  /** For the automatic choice; larger is stronger. The built-ins are 0 to 60 in steps of 10. Default: 5. */
  readonly strength?: number;
  /** The types of resource it can isolate. Default: every type. */
  readonly resourceTypes?: readonly string[];
  /**
   * Paths inside of a folder that are resources of their own (`properties.without`) are no part of its
   * sandboxes. Default: false.
   */
  readonly leavesOut?: boolean;
  /**
   * What work in a sandbox does not keep that work on the original itself would. Default: nothing is lost.
   */
  readonly loses?: readonly Loss[];
  /**
   * The sandbox holds its work only in a live connection, so in a commit it prepares last among the two-phase
   * ones. Default: false.
   */
  readonly heldTransaction?: boolean;
}

/** Of a strategy with `prepare`, `commitPrepared` and `rollbackPrepared`. */
export interface TwoPhaseCapabilities extends StrategyCapabilities {
  readonly commit: "two-phase";
}

/** Of a strategy without them. */
export interface OnePhaseCapabilities extends StrategyCapabilities {
  readonly commit: "one-phase" | "in-place";
}

/**
 * - `folder-renames`: a program can't rename a folder that came from the original; it gets EXDEV, as between
 *   file systems, and copies.
 * - `linked-files`: a file with several names that is changed through one of them becomes a file of its own.
 * - `holes`: a sparse file that is changed is filled.
 * - `folder-times`: a folder in which something was changed gets the time of that.
 * - `link-attributes`: a symlink of which something but its target is changed gets the time of that, and
 *   keeps no extended attributes.
 * - `read-only-folders`: a program can't change a folder that came from the original without write
 *   permission, not even as its owner.
 * - `special-files`: a program can't change or rename a FIFO, a socket or a device that came from the
 *   original.
 * - `long-names`: a program can't change what has a name of more than 251 bytes.
 * - `folders`: folders come and go with the files in them; an empty one is not kept, and what is said of a
 *   folder itself is not either.
 * - `times`: what lands gets the time of that.
 * - `owners`: what is said of who owns something in the sandbox does not land.
 * - `modes`: of the mode of a file only whether it can be run lands.
 * - `attributes`: extended attributes that were set in the sandbox do not land.
 * - `other-kinds`: what is neither a file, a link nor a folder is not in the sandbox, and does not land.
 * - `ignored-files`: what the original's own rules say is not part of it is not in the sandbox, and does not
 *   land.
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

/** Capabilities with every default filled in. */
export type FullCapabilities = Required<Omit<StrategyCapabilities, "resourceTypes">> & {
  readonly resourceTypes: readonly string[] | "all";
};

/**
 * What is known of one capability: what it may be, in the words of a message too, and what it is by default.
 */
interface CapabilityRule<T> {
  readonly values: string;
  readonly fits: (value: unknown) => boolean;
  /** Absent: it has to be declared. */
  readonly byDefault?: (commit: StrategyCapabilities["commit"]) => T;
}

/** Every capability, once: the compiler refuses one that is missing here. */
export const CAPABILITIES: {
  readonly [name in keyof FullCapabilities]: CapabilityRule<FullCapabilities[name]>;
} = {
  commit: oneOf<FullCapabilities["commit"]>({ "two-phase": true, "one-phase": true, "in-place": true }),
  undo: truth((commit) => commit === "two-phase"),
  partial: truth(() => false),
  checkpoint: truth(() => true),
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

/** Fills in the defaults, which are documented on the fields. */
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
