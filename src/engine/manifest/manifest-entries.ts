import type { ChangeOperation } from "../../core/change.ts";
import type { EntryKind, Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type Line, LineFile, LineWriter } from "./line-file.ts";
import type { ChangedFolderTime, Direction, EntryIdentity, Manifest, ManifestEntry } from "./manifest.ts";
import { RenamedPaths } from "./renamed-paths.ts";

/**
 * The entries of a manifest, which may be more than memory holds. Format of the file `entries`
 * (line-file.ts), a line for each:
 *   [kind, slot, path, before, after, more]
 * `kind` is one of KINDS. `before` and `after` are identities as lists of numbers (PackedIdentity), or null.
 * `more` is an object with the fields of a ManifestEntry that most entries do not have, and is left out if
 * there is none of them. A folder whose time is set at the end has a line of its own:
 *   ["t", path, before, after]
 * A folder that is renamed has its old path, and the new one in `more`. All paths in it are written with its
 * new name; on the way back they are given with its old one, because its name goes back first.
 * Where an entry is a folder with what is in it, all changed paths of the landing are listed too, so
 * that a later diff can show them:
 *   ["c", path, operation, before, after], with the facts of each side as PackedFacts, or null
 */
const KINDS = { add: "a", replace: "r", delete: "d", metadata: "m", rename: "n" } as const;
const FOLDER_METADATA = "f";
const ALL_KINDS = "ardmfn";
const FOLDER_TIMES = "t";
const CHANGED_PATH = "c";

export interface SlotEntry {
  readonly slot: number;
  readonly entry: ManifestEntry;
}

export interface ManifestEntries {
  /** With the paths that they have after a run in this direction. Default: once they have landed. */
  all(direction?: Direction): Iterable<SlotEntry>;
  /** The folders that are renamed. */
  renamed(): Iterable<SlotEntry>;
  /**
   * The entries that come or change in place in this direction: all except deletions and the metadata of
   * folders.
   */
  coming(direction: Direction): Iterable<SlotEntry>;
  going(direction: Direction): Iterable<SlotEntry>;
  /** The metadata of folders, the deepest first, because it may close them. */
  folderMetadata(direction?: Direction): Iterable<SlotEntry>;
  folderTimes(direction?: Direction): Iterable<ChangedFolderTime>;
  /** All changed paths, in path order; none where each entry is one of them. */
  changedPaths(): Iterable<ChangedPath>;
}

/** One path that a landing changed, at any depth. */
export interface ChangedPath {
  readonly path: string;
  readonly operation: ChangeOperation;
  readonly before?: LandedFacts | undefined;
  readonly after?: LandedFacts | undefined;
}

/** The facts of one side that are kept. */
export type LandedFacts = Pick<EntryIdentity, "kind" | "mode" | "uid" | "gid" | "size" | "mtime">;

/** The kind, mode, owner, group and size; then seconds and nanoseconds of the time of content. */
type PackedFacts = readonly number[];

/**
 * The kind, mode, owner, group, size, inode; then seconds and nanoseconds of the times of content, of change
 * and of birth.
 */
export type PackedIdentity = readonly number[];

const ENTRY_KINDS: readonly EntryKind[] = [
  "file",
  "directory",
  "symlink",
  "fifo",
  "socket",
  "device",
  "block-device",
];

export function packIdentity(identity: EntryIdentity | Facts): number[] {
  const { kind, mode, uid, gid, size, ino, mtime, ctime, btime } = identity;
  const itself = ENTRY_KINDS.indexOf(kind);
  return [itself, mode, uid, gid, size, ino, mtime[0], mtime[1], ctime[0], ctime[1], btime[0], btime[1]];
}

function unpackIdentity(packed: PackedIdentity): EntryIdentity {
  return {
    kind: ENTRY_KINDS[packed[0] as number] ?? "file",
    mode: packed[1] as number,
    uid: packed[2] as number,
    gid: packed[3] as number,
    size: packed[4] as number,
    mtime: [packed[6] as number, packed[7] as number],
    ctime: [packed[8] as number, packed[9] as number],
    ino: packed[5] as number,
    btime: [packed[10] as number, packed[11] as number],
  };
}

function packFacts({ kind, mode, uid, gid, size, mtime }: LandedFacts): PackedFacts {
  return [ENTRY_KINDS.indexOf(kind), mode, uid, gid, size, mtime[0], mtime[1]];
}

function unpackFacts(packed: PackedFacts | null): LandedFacts | undefined {
  if (packed === null) return undefined;
  const [kind = 0, mode = 0, uid = 0, gid = 0, size = 0, seconds = 0, nanoseconds = 0] = packed;
  return { kind: ENTRY_KINDS[kind] ?? "file", mode, uid, gid, size, mtime: [seconds, nanoseconds] };
}

/** The fields of an entry besides its path and identity. */
export type EntryExtras = Pick<
  ManifestEntry,
  "linkTo" | "innerLinks" | "metadata" | "skeleton" | "byContent" | "partly" | "renamedTo"
>;

/** An entry to write. */
export interface NewEntry {
  readonly slot: number;
  readonly path: string;
  readonly operation: ManifestEntry["operation"];
  readonly before: PackedIdentity | undefined;
  readonly after: PackedIdentity | undefined;
  readonly extras?: EntryExtras;
}

const WRITE = failpoint("stage.entries");
const DIRECTORY = ENTRY_KINDS.indexOf("directory");

/** Writes entries, in any order. */
export class EntriesWriter implements Disposable {
  readonly #lines: LineWriter;

  constructor(landing: Folder, name: string) {
    this.#lines = new LineWriter(WRITE, landing, name);
  }

  add({ slot, path, operation, before, after, extras }: NewEntry): void {
    const isFolderMetadata = operation === "metadata" && before?.[0] === DIRECTORY;
    const kind = isFolderMetadata ? FOLDER_METADATA : KINDS[operation];
    const line: Line = [kind, slot, path, before ?? null, after ?? null];
    this.#lines.add(extras === undefined ? line : [...line, extras]);
  }

  addFolderTimes({ path, before, after }: ChangedFolderTime): void {
    this.#lines.add([FOLDER_TIMES, path, before, after]);
  }

  addChangedPath({ path, operation, before, after }: ChangedPath): void {
    this.#lines.add([
      CHANGED_PATH,
      path,
      operation,
      before ? packFacts(before) : null,
      after ? packFacts(after) : null,
    ]);
  }

  /** Returns the digest of the file. */
  end(): string {
    return this.#lines.end();
  }

  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
  }
}

export class StoredEntries implements ManifestEntries {
  readonly #file: LineFile;
  #renamedPaths: RenamedPaths | undefined;

  constructor(landing: Folder, name: string) {
    this.#file = new LineFile(landing, name);
  }

  digest(): string {
    return this.#file.digest();
  }

  all(direction: Direction = "forward"): Iterable<SlotEntry> {
    return this.#named(this.#file.lines(ALL_KINDS), direction);
  }

  renamed(): Iterable<SlotEntry> {
    return decoded(this.#file.lines(KINDS.rename));
  }

  coming(direction: Direction): Iterable<SlotEntry> {
    return this.#named(this.#file.lines(direction === "forward" ? "arm" : "drm"), direction);
  }

  going(direction: Direction): Iterable<SlotEntry> {
    return this.#named(this.#file.lines(direction === "forward" ? "d" : "a"), direction);
  }

  folderMetadata(direction: Direction = "forward"): Iterable<SlotEntry> {
    return this.#named(this.#file.linesBackward(FOLDER_METADATA), direction);
  }

  *folderTimes(direction: Direction = "forward"): Generator<ChangedFolderTime> {
    for (const line of this.#file.lines(FOLDER_TIMES)) {
      const [, path, before, after] = line as [string, string, Time, Time];
      yield { path: direction === "forward" ? path : this.#names.before(path), before, after };
    }
  }

  *#named(lines: Iterable<Line>, direction: Direction): Generator<SlotEntry> {
    for (const { slot, entry } of decoded(lines)) {
      const isSame = direction === "forward" || entry.operation === "rename";
      yield isSame ? { slot, entry } : { slot, entry: { ...entry, path: this.#names.before(entry.path) } };
    }
  }

  get #names(): RenamedPaths {
    this.#renamedPaths ??= new RenamedPaths(Iterator.from(this.renamed()).map(({ entry }) => entry));
    return this.#renamedPaths;
  }

  *changedPaths(): Generator<ChangedPath> {
    for (const line of this.#file.lines(CHANGED_PATH)) {
      const [, path, operation, before, after] = line as [
        string,
        string,
        ChangeOperation,
        PackedFacts | null,
        PackedFacts | null,
      ];
      yield { path, operation, before: unpackFacts(before), after: unpackFacts(after) };
    }
  }
}

const OPERATIONS: { readonly [kind: string]: ManifestEntry["operation"] } = {
  a: "add",
  r: "replace",
  d: "delete",
  m: "metadata",
  f: "metadata",
  n: "rename",
};

function* decoded(lines: Iterable<Line>): Generator<SlotEntry> {
  for (const line of lines) {
    const [kind, slot, path, before, after, extras] = line as [
      string,
      number,
      string,
      PackedIdentity | null,
      PackedIdentity | null,
      EntryExtras | undefined,
    ];
    const entry: ManifestEntry = {
      path,
      operation: OPERATIONS[kind] ?? "replace",
      before: before === null ? undefined : asKnown(unpackIdentity(before), extras),
      after: after === null ? undefined : unpackIdentity(after),
    };
    yield { slot, entry: extras === undefined ? entry : { ...entry, ...extras } };
  }
}

/** With what an overlay leaves of the identity. */
function asKnown(before: EntryIdentity, extras: EntryExtras | undefined): EntryIdentity {
  if (extras?.skeleton !== undefined) return { ...before, or: extras.skeleton.root };
  return extras?.byContent === true ? { ...before, byContent: true } : before;
}

/** The entries of a manifest of version 1, which were in one text. */
export class EntriesInMemory implements ManifestEntries {
  readonly #entries: readonly SlotEntry[];
  readonly #folderTimes: readonly ChangedFolderTime[];

  constructor({ entries, folderTimes }: Pick<Manifest, "entries" | "folderTimes">) {
    this.#entries = entries.map((entry, slot) => ({ slot, entry }));
    this.#folderTimes = folderTimes;
  }

  all(): Iterable<SlotEntry> {
    return this.#entries;
  }

  renamed(): Iterable<SlotEntry> {
    return [];
  }

  coming(direction: Direction): Iterable<SlotEntry> {
    return this.#entries.filter(({ entry }) => !goes(entry, direction) && !isFolderMetadata(entry));
  }

  going(direction: Direction): Iterable<SlotEntry> {
    return this.#entries.filter(({ entry }) => goes(entry, direction));
  }

  folderMetadata(): Iterable<SlotEntry> {
    return this.#entries.filter(({ entry }) => isFolderMetadata(entry)).reverse();
  }

  folderTimes(): Iterable<ChangedFolderTime> {
    return this.#folderTimes;
  }

  changedPaths(): Iterable<ChangedPath> {
    return [];
  }
}

function goes({ operation }: ManifestEntry, direction: Direction): boolean {
  return operation === (direction === "forward" ? "delete" : "add");
}

function isFolderMetadata({ operation, before }: ManifestEntry): boolean {
  return operation === "metadata" && before?.kind === "directory";
}
