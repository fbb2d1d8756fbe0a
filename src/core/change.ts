/** What can happen to one entry of a resource. */
export const CHANGE_OPERATIONS = ["added", "modified", "deleted", "typechanged"] as const;
export type ChangeOperation = (typeof CHANGE_OPERATIONS)[number];

/** The kind of the entry after the change, or before it if it is deleted. */
export const CHANGE_KINDS = [
  "file",
  "directory",
  "symlink",
  "fifo",
  "socket",
  "device",
  "row",
  "table",
  "object",
] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** The facts of one side of a change. Absent facts are unknown or do not apply. */
export interface ChangeFacts {
  readonly size?: number;
  /** Permission bits, 0 to 0o7777. */
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  /** UTC, ISO 8601, to the nanosecond. */
  readonly mtime?: string;
  /** Where a symlink points. */
  readonly target?: string;
  /** The object that a ref of a git repository leads to, or the ref that it stands for. */
  readonly object?: string;
  /**
   * SHA-256 of the content, in hex. Where whole MiB of the content are zeros, holes or not, these are counted
   * instead of hashed, and the digest begins with `zeros:`.
   */
  readonly digest?: string;
  /**
   * SHA-256 of the extended attributes with their values, ACLs and capabilities included; absent without any.
   */
  readonly xattrs?: string;
}

/** The two sides of a change. */
export const CHANGE_SIDES = ["before", "after"] as const;
export type ChangeSide = (typeof CHANGE_SIDES)[number];

/** One difference between a sandbox and its original. */
export interface Change {
  /** Relative to the resource; the root is ".". Bytes as in byte-path.ts. */
  readonly path: string;
  readonly operation: ChangeOperation;
  readonly kind: ChangeKind;
  /** For an added entry that was moved: the path where it was. The changes also have it as deleted there. */
  readonly from?: string;
  readonly before?: ChangeFacts;
  readonly after?: ChangeFacts;
  /** The content is not text, so no lines are counted or shown. */
  readonly binary?: boolean;
  /** The statement that will make the change, where only that is known: one that was run in a database. */
  readonly statement?: string;
  /** What changes, where path and kind do not say it: "2 commits on main: …". */
  readonly note?: string;
  /** How many rows it touches. */
  readonly rows?: number;
  /** What will not land unchanged, and why. */
  readonly warnings?: readonly string[];
  /** Lines added and removed; only for text files. */
  readonly insertions?: number;
  readonly deletions?: number;
}

export interface DiffStats {
  readonly added: number;
  /** "typechanged" counts as modified. */
  readonly modified: number;
  readonly deleted: number;
  /** How many of the added entries are renames of deleted ones; absent without any. */
  readonly renamed?: number;
  readonly insertions: number;
  readonly deletions: number;
}

/** All differences between a sandbox and its original, in path order. */
export interface DiffView {
  readonly changes: readonly Change[];
  /** Derived from the changes if a strategy omits it. */
  readonly stats?: DiffStats;
}

/** Takes one change after the other. */
export type TakeChange = (change: Change) => void;

/** The view of these changes. With `take`, the changes go there and the view has only their statistics. */
export function diffViewOf(changes: Iterable<Change>, take?: TakeChange): DiffView {
  const kept: Change[] = [];
  const count = new DiffCount();
  for (const change of changes) {
    count.add(change);
    if (take === undefined) kept.push(change);
    else take(change);
  }
  return { changes: kept, stats: count.stats };
}

/** Counts changes, one after the other. */
export class DiffCount {
  readonly #stats = { added: 0, modified: 0, deleted: 0, insertions: 0, deletions: 0 };

  add({ operation, insertions = 0, deletions = 0 }: Change): void {
    this.#stats[operation === "typechanged" ? "modified" : operation] += 1;
    this.#stats.insertions += insertions;
    this.#stats.deletions += deletions;
  }

  get stats(): DiffStats {
    return { ...this.#stats };
  }
}

/** Counts a list of changes. */
export function statsOf(changes: readonly Change[]): DiffStats {
  const count = new DiffCount();
  for (const change of changes) count.add(change);
  return count.stats;
}

/** Changes of one sandbox that land, or are taken out of it, each alone. */
export interface ExactPart {
  /** Without what is below them. */
  readonly paths: readonly string[];
  /** For files of which only some hunks are meant: the ids of these (hunks.ts). */
  readonly hunks?: { readonly [path: string]: readonly string[] };
  /** For files that land with another content than the sandbox has: that content, in base64. */
  readonly edited?: { readonly [path: string]: string };
}
