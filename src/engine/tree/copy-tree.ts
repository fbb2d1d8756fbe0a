import { BusyError } from "../../core/errors/errors.ts";
import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import {
  type Facts,
  identityKey,
  kindOfOpen,
  lastFacts,
  sameIdentity,
  sameTime,
  statListed,
} from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readNames } from "../../system/calls/listing.ts";
import { readXattrs, readXattrsAndMarks, readXattrsOfOpen, type Xattrs } from "../../system/calls/xattrs.ts";
import { cloneData, copyData } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { Steps } from "../work/pace.ts";
import { CopiedLevel } from "./copied-level.ts";
import { finishCopy, giveMetadata } from "./metadata.ts";
import type { NamedEntry } from "./named-entry.ts";
import { assertNotTooDeep } from "./walk.ts";

/**
 * Copies trees with everything in them: contents with their holes, links and link groups, fifos, sockets and
 * devices, modes, owners, times, attributes. An entry that changes during its copy is copied again; an entry
 * that vanishes is skipped.
 */
export interface CopyOptions {
  /** `share` lets the copy share blocks where the file system can, file by file; `copy` never does. */
  readonly data: "copy" | "share";
  /** Called for each entry after it and everything below it are copied. */
  readonly onCopied?: (entry: CopiedEntry) => void;
  /** Whether an entry is copied at all. */
  readonly filter?: (path: string, facts: Facts) => boolean;
  /** The mode of the copy, if it differs from the original's. */
  readonly mode?: (path: string, facts: Facts) => number;
  /** The attributes of the copy, if they differ from the original's. */
  readonly xattrs?: (path: string, xattrs: Xattrs) => Xattrs;
  /** Whether to copy the marks of an overlay, because the source is one of its layers. */
  readonly withMarks?: boolean;
  /**
   * Names that share an inode also share one in the copy. Several copies into one file system may share this
   * map.
   */
  readonly links?: LinkMap;
  /**
   * Makes the copy by naming an earlier copy of the same version of the file, and returns true; false if
   * there is none. `onCopied` is not called for it.
   */
  readonly linkEarlier?: (path: string, facts: Facts, to: Folder, name: string) => boolean;
}

/** A copied entry. */
export interface CopiedEntry {
  readonly path: string;
  readonly original: Facts;
  readonly copy: Facts;
  readonly xattrs: Xattrs;
  /** The target of a symbolic link. */
  readonly target?: string;
}

/** The path, below the target folder, of the first copy of each inode with several names. */
export type LinkMap = Map<string, string>;

const POINTS = {
  folder: failpoint("copy.create-folder"),
  file: failpoint("copy.create-file"),
  data: failpoint("copy.write"),
  reflink: failpoint("copy.reflink"),
  link: failpoint("copy.create-symlink"),
  node: failpoint("copy.create-node"),
  hardLink: failpoint("copy.create-hard-link"),
  metadata: failpoint("copy.metadata"),
  again: failpoint("copy.remove-changed"),
};
const TRIES_WHILE_CHANGING = 20;
const STEP = 64;

/**
 * Copies the contents of `from` into the empty folder `to`, and gives `to` the metadata of `from`. Stepwise:
 * see pace.ts.
 */
export function* copyTree(from: Folder, to: Folder, options: CopyOptions): Steps {
  const copy = new TreeCopy(options, to, ROOT_PATH, ROOT_PATH);
  yield* copy.contents(new CopiedLevel(from, to), ROOT_PATH);
  copy.finishFolder(from.ownFacts(), from, to, ROOT_PATH);
}

/**
 * Copies one entry of any kind, a folder with all its contents. The functions of the options get `path` as
 * its path.
 */
export function* copyEntry(from: NamedEntry, to: NamedEntry, options: CopyOptions, path = from.name): Steps {
  const facts = from.folder.facts(from.name);
  if (facts !== undefined)
    yield* new TreeCopy(options, to.folder, path, to.name).entry({ from, to, path }, facts);
}

/**
 * Copies the entries at these paths to the same paths of another tree, as one copy: names that share an inode
 * share one there too. Makes missing folders above them, without metadata.
 */
export function* copyEntries(
  from: Folder,
  to: Folder,
  paths: readonly string[],
  options: CopyOptions,
): Steps {
  const copy = new TreeCopy(options, to, ROOT_PATH, ROOT_PATH);
  for (const path of paths) {
    using source = from.openBelow(parentPath(path));
    using target = openMaking(to, parentPath(path));
    const name = baseName(path);
    const facts = source.facts(name);
    if (facts !== undefined)
      yield* copy.entry({ from: { folder: source, name }, to: { folder: target, name }, path }, facts);
  }
}

function openMaking(folder: Folder, path: string): Folder {
  let open = folder.duplicate();
  for (const name of path === ROOT_PATH ? [] : path.split("/")) {
    using above = open;
    if (above.facts(name) === undefined) above.createFolder(POINTS.folder, name, 0o700);
    open = above.openChild(name);
  }
  return open;
}

/** One entry and its copy. */
interface EntryCopy {
  readonly from: NamedEntry;
  readonly to: NamedEntry;
  readonly path: string;
}

class TreeCopy {
  readonly #options: CopyOptions;
  readonly #links: LinkMap;
  readonly #target: Folder;
  readonly #base: string;
  readonly #targetBase: string;
  #count = 0;

  constructor(options: CopyOptions, target: Folder, base: string, targetBase: string) {
    this.#options = options;
    this.#links = options.links ?? new Map();
    this.#target = target;
    this.#base = base;
    this.#targetBase = targetBase;
  }

  *contents(level: CopiedLevel, path: string): Steps {
    const found: (readonly [name: string, facts: Facts])[] = [];
    const { from } = level;
    readNames(from, (name, pointer) => {
      // Skips an entry that vanished after the listing.
      if (statListed(from, pointer)) found.push([name, lastFacts()]);
    });
    for (const [name, facts] of found) {
      const [source, target] = [
        { folder: level.from, name },
        { folder: level.to, name },
      ];
      yield* this.entry({ from: source, to: target, path: joinPath(path, name) }, facts, level);
    }
  }

  /**
   * One function on purpose: each generator on the way down takes stack, and walk.ts relies on the
   * amount.
   */
  *entry(copy: EntryCopy, facts: Facts, above?: CopiedLevel): Steps {
    const { from, to, path } = copy;
    if (this.#options.filter !== undefined && !this.#options.filter(path, facts)) return;
    this.#count += 1;
    if (this.#count % STEP === 0) yield STEP;
    if (facts.kind !== "directory") {
      yield* this.#leaf(copy, facts, above);
      return;
    }
    assertNotTooDeep(path);
    using source = from.folder.openBelowIfThere(from.name);
    if (source === undefined) {
      const now = from.folder.facts(from.name);
      if (now !== undefined) yield* this.entry(copy, now, above);
      return;
    }
    const own = source.ownFacts();
    to.folder.createFolder(POINTS.folder, to.name, 0o700);
    using level = new CopiedLevel(source, to.folder.openChild(to.name), from.name, above);
    level.closeAbove();
    yield* this.contents(level, path);
    this.finishFolder(own, level.from, level.to, path);
    level.openAbove();
  }

  /** Gives the copy of a folder its metadata, after filling it, which would change the metadata. */
  finishFolder(facts: Facts, from: Folder, to: Folder, path: string): void {
    const xattrs = this.#xattrs(from, ROOT_PATH);
    const wanted = { facts: this.#wantedFacts(path, facts), xattrs };
    giveMetadata(POINTS.metadata, { folder: to, name: ROOT_PATH }, wanted, to.ownFacts());
    this.#options.onCopied?.({ path, original: facts, copy: to.ownFacts(), xattrs });
  }

  #linkToEarlier(facts: Facts, to: NamedEntry, path: string): boolean {
    const { linkEarlier } = this.#options;
    if (linkEarlier === undefined || this.#links.has(linkKey(facts))) return false;
    if (!linkEarlier(path, facts, to.folder, to.name)) return false;
    this.#noteFirst(facts, path);
    return true;
  }

  #noteFirst(facts: Facts, path: string): void {
    if (facts.nlink > 1 && !this.#links.has(linkKey(facts)))
      this.#links.set(linkKey(facts), this.#targetPath(path));
  }

  #linkToFirst(facts: Facts, to: NamedEntry): boolean {
    const first = this.#links.get(linkKey(facts));
    if (first === undefined) return false;
    using folder = this.#target.openBelow(parentPath(first));
    to.folder.createHardLink(POINTS.hardLink, to.name, folder, baseName(first));
    return true;
  }

  /** Repeats the copy until the entry is the same before and after. */
  *#leaf(copy: EntryCopy, first: Facts, above: CopiedLevel | undefined): Steps {
    const { from, to, path } = copy;
    if (this.#linkToEarlier(first, to, path)) return;
    let facts: Facts = first;
    for (let tries = 0; tries < TRIES_WHILE_CHANGING; tries += 1) {
      const copied = this.#leafOnce(copy, facts);
      const after = from.folder.facts(from.name);
      if (copied !== undefined && after !== undefined && isSameVersion(facts, after)) {
        this.#noteFirst(facts, path);
        this.#options.onCopied?.(copied);
        return;
      }
      if (to.folder.facts(to.name) !== undefined) to.folder.removeFile(POINTS.again, to.name);
      if (after === undefined) return;
      if (after.kind === "directory") {
        yield* this.entry(copy, after, above);
        return;
      }
      facts = after;
    }
    throw new BusyError(`${from.folder.label(from.name)} keeps changing while it is copied.`, {
      holder: "another process",
      hint: "Stop what writes to it, or leave it out of the plan.",
    });
  }

  /** Returns undefined if the entry is gone or was replaced. */
  #leafOnce(entry: EntryCopy, facts: Facts): CopiedEntry | undefined {
    const { from, to, path } = entry;
    try {
      const isLinked = facts.nlink > 1 && this.#linkToFirst(facts, to);
      const target = facts.kind === "symlink" ? from.folder.readLink(from.name) : undefined;
      const xattrs = isLinked ? this.#xattrs(from.folder, from.name) : this.#make(entry, facts, target);
      if (xattrs === undefined) return undefined;
      const look = () => ownCopy(to);
      const wanted = {
        facts: this.#wantedFacts(path, facts),
        xattrs: this.#options.xattrs?.(path, xattrs) ?? xattrs,
      };
      const copy = isLinked ? look() : finishCopy(POINTS.metadata, to, wanted, look);
      return { path, original: facts, copy, xattrs, ...(target !== undefined && { target }) };
    } catch (thrown) {
      const now = from.folder.facts(from.name);
      const isStillThere = now !== undefined && sameIdentity(now, facts);
      if (isStillThere || !failedWith(thrown, "ENOENT", "ELOOP", "EINVAL", "ENXIO")) throw thrown;
      return undefined;
    }
  }

  /**
   * Makes the copy without its metadata, and returns the original's attributes. Returns undefined if the
   * original is no longer a file.
   */
  #make(copy: EntryCopy, facts: Facts, target: string | undefined): Xattrs | undefined {
    if (facts.kind === "file") return this.#file(copy, facts);
    const { from, to } = copy;
    if (target !== undefined) to.folder.createLink(POINTS.link, to.name, target);
    else to.folder.createNode(POINTS.node, to.name, facts);
    return this.#xattrs(from.folder, from.name);
  }

  #file({ from: { folder, name }, to, path }: EntryCopy, facts: Facts): Xattrs | undefined {
    const source = folder.openFile(name);
    try {
      if (kindOfOpen(source, folder.label(name)) !== "file") return undefined;
      const { mode } = this.#wantedFacts(path, facts);
      const target = to.folder.createFile(POINTS.file, to.name, mode & 0o777);
      try {
        this.#data(source, target, facts.size, folder.label(name));
        return this.#options.withMarks ? this.#xattrs(folder, name) : readXattrsOfOpen(source, folder, name);
      } finally {
        closeFile(target);
      }
    } finally {
      closeFile(source);
    }
  }

  #data(source: number, target: number, size: number, label: string): void {
    const { data } = this.#options;
    if (size === 0) return;
    if (data !== "copy" && cloneData(POINTS.reflink, source, target, label)) return;
    copyData({ point: POINTS.data, from: source, to: target, label }, size);
  }

  #xattrs(from: Folder, name: string): Xattrs {
    return this.#options.withMarks ? readXattrsAndMarks(from, name) : readXattrs(from, name);
  }

  #targetPath(path: string): string {
    if (this.#base === ROOT_PATH) return path;
    return this.#targetBase + path.slice(this.#base.length);
  }

  #wantedFacts(path: string, facts: Facts): Facts {
    return this.#options.mode === undefined ? facts : { ...facts, mode: this.#options.mode(path, facts) };
  }
}

function ownCopy({ folder, name }: NamedEntry): Facts {
  const facts = folder.facts(name);
  if (facts !== undefined) return facts;
  throw new BusyError(`${folder.label(name)} was removed while it was written.`, {
    holder: "another process",
  });
}

/**
 * The key of a file in a LinkMap. A file system that is mounted inside the tree has inode numbers of its own.
 */
export function linkKey(facts: Facts): string {
  return `${facts.device} ${identityKey(facts)}`;
}

function isSameVersion(a: Facts, b: Facts): boolean {
  return sameIdentity(a, b) && sameTime(a.ctime, b.ctime) && sameTime(a.mtime, b.mtime) && a.size === b.size;
}
