import { baseName } from "../../core/paths/byte-path.ts";
import type { LandingPolicy } from "../../core/strategy-policies.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { type Facts, factsOfOpen } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { ContentDigest, digestOfContent } from "../../system/data/content-digest.ts";
import { readData } from "../../system/data/file-content.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { TreeChange } from "../changes/change-set.ts";
import { OpenParent } from "../tree/open-parent.ts";
import { BINARY_LOOKS_AT, isBinary, LARGEST_TEXT } from "./text-diff.ts";

/** The two trees that a diff compares, and how to view them. */
export interface DiffSides {
  /** Absent where the work is done in place: then the earlier content is lost. */
  readonly original?: Folder;
  readonly sandbox: Folder;
  /** The folder that `storedAt` of a change refers to. */
  readonly workspace?: Folder;
  readonly policy: LandingPolicy;
  /** Whether an entry of the original is still the base that the sandbox was made from. */
  readonly originalIsBase: (now: Facts | undefined, before: BaseFacts) => boolean;
  /** Called after each change. */
  readonly tick?: () => void;
  /** Maps a path of the trees to the path that people see; the same path if absent. */
  readonly mapPath?: (path: string) => string;
}

/** The content of a file. */
export interface FileContent {
  /** See content-digest.ts. */
  readonly digest: string;
  readonly binary: boolean;
  /** Absent if the content is binary or too large to compare by line. */
  readonly text?: Buffer;
}

/** The readable facts of one side of a change. */
export interface ReadSide {
  readonly content?: FileContent;
  /** The target of a symbolic link. */
  readonly target?: string;
  /** The entry exists, but this user may not read it. */
  readonly unreadable?: boolean;
}

export interface ReadChange {
  /** The original is no longer the sandbox's base, so the content before is not known. */
  readonly originalChanged: boolean;
  readonly before: ReadSide;
  readonly after: ReadSide;
  /** The attributes in the sandbox. */
  readonly xattrs: Xattrs;
}

const NOTHING: ReadSide = Object.freeze({});
const NO_BYTES = Buffer.alloc(0);
const READ_AT_ONCE = 256 * 1024;

/**
 * Reads both sides of changes, in path order, without following links. Skips entries that are gone meanwhile.
 */
export class ChangeReader {
  readonly #sides: DiffSides;
  readonly #original: SideReader | undefined;
  readonly #sandbox: SideReader;
  readonly #workspace: SideReader | undefined;

  constructor(sides: DiffSides) {
    this.#sides = sides;
    this.#original = sides.original && new SideReader(sides.original);
    this.#sandbox = new SideReader(sides.sandbox);
    this.#workspace = sides.workspace && new SideReader(sides.workspace);
  }

  read(change: TreeChange): ReadChange {
    const { path, before, after } = change;
    const withContent = change.parts === undefined;
    const stored = change.storedAt === undefined ? undefined : this.#workspace;
    const [side, at] = stored === undefined ? [this.#sandbox, path] : [stored, change.storedAt ?? path];
    // Without another content it has the earlier target; a checkpoint does not have the link itself.
    const sameTarget = withContent ? undefined : before?.target;
    const readAfter =
      after === undefined
        ? NOTHING
        : sameTarget === undefined
          ? side.read(at, after.kind, withContent)
          : { target: sameTarget };
    const xattrs = after === undefined ? {} : (change.xattrs ?? side.xattrs(at));
    if (before === undefined) return { originalChanged: false, before: NOTHING, after: readAfter, xattrs };
    return { ...this.#before(path, before, withContent), after: readAfter, xattrs };
  }

  /** Checks the base again after reading, because the original may change meanwhile. */
  #before(path: string, before: BaseFacts, withContent: boolean): Omit<ReadChange, "after" | "xattrs"> {
    const known: ReadSide = before.target === undefined ? NOTHING : { target: before.target };
    const original = this.#original;
    if (original === undefined) return { originalChanged: false, before: known };
    const isBase = () => this.#sides.originalIsBase(original.facts(path), before);
    if (!isBase()) return { originalChanged: true, before: known };
    if (known !== NOTHING) return { originalChanged: false, before: known };
    const side = original.read(path, before.kind, withContent);
    if (side === NOTHING || isBase()) return { originalChanged: false, before: side };
    return { originalChanged: true, before: NOTHING };
  }

  [Symbol.dispose](): void {
    this.#original?.close();
    this.#sandbox.close();
    this.#workspace?.close();
  }
}

/** Reads entries of one tree. Keeps the folder of the last entry open. */
class SideReader {
  readonly #parents: OpenParent;

  constructor(root: Folder) {
    this.#parents = new OpenParent(root);
  }

  read(path: string, kind: string, withContent: boolean): ReadSide {
    if (kind !== "symlink" && (kind !== "file" || !withContent)) return NOTHING;
    try {
      const folder = this.#parents.of(path);
      if (folder === undefined) return NOTHING;
      if (kind === "symlink") return { target: folder.readLink(baseName(path)) };
      const content = readContent(folder, baseName(path));
      return content === undefined ? NOTHING : { content };
    } catch (thrown) {
      // EINVAL: no longer a link; ELOOP: now a link; ENXIO: now a socket.
      if (failedWith(thrown, "ENOENT", "ENOTDIR", "ELOOP", "EINVAL", "ENXIO")) return NOTHING;
      if (failedWith(thrown, "EACCES", "EPERM")) return { unreadable: true };
      throw thrown;
    }
  }

  facts(path: string): Facts | undefined {
    return this.#parents.of(path)?.facts(baseName(path));
  }

  /** The attributes of an entry, or none if it is gone. */
  xattrs(path: string): Xattrs {
    try {
      const folder = this.#parents.of(path);
      return folder === undefined ? {} : readXattrs(folder, baseName(path));
    } catch (thrown) {
      if (failedWith(thrown, "ENOENT", "ENOTDIR", "ELOOP", "EACCES", "EPERM")) return {};
      throw thrown;
    }
  }

  close(): void {
    this.#parents.close();
  }
}

/** Returns undefined if the entry is no longer a file. */
function readContent(folder: Folder, name: string): FileContent | undefined {
  const label = folder.label(name);
  const fd = folder.openFile(name);
  try {
    const { kind, size } = factsOfOpen(fd, label);
    if (kind !== "file") return undefined;
    if (size <= READ_AT_ONCE) return wholeContent(fd, size, label);
    const digest = new ContentDigest();
    const seen = new SeenText(size);
    readData(fd, size, label, (bytes, at) => {
      digest.add(bytes, at);
      seen.add(bytes, at);
    });
    return { digest: digest.end(size), ...seen.end() };
  } finally {
    closeFile(fd);
  }
}

/** Reads a small file in one call: most files are small, and there may be a hundred thousand. */
function wholeContent(fd: number, size: number, label: string): FileContent {
  const bytes = Buffer.alloc(size);
  readData(fd, size, label, (read, at) => read.copy(bytes, at));
  const digest = digestOfContent(bytes);
  return isBinary(bytes) ? { digest, binary: true } : { digest, binary: false, text: bytes };
}

/** Collects the content of a file while it is read, unless it is binary or too large to compare by line. */
class SeenText {
  #kept: Buffer;
  #isBinary: boolean | undefined;
  readonly #isLarge: boolean;

  constructor(size: number) {
    this.#isLarge = size > LARGEST_TEXT;
    this.#kept = Buffer.alloc(this.#isLarge ? BINARY_LOOKS_AT : size);
  }

  /** Ranges without bytes stay zeros. */
  add(bytes: Buffer, at: number): void {
    if (this.#isBinary === true || at >= this.#kept.length) return;
    bytes.copy(this.#kept, at);
    if (this.#isBinary === undefined && at + bytes.length >= BINARY_LOOKS_AT) this.#decide();
  }

  end(): Pick<FileContent, "binary" | "text"> {
    const binary = this.#isBinary ?? this.#decide();
    return binary || this.#isLarge ? { binary } : { binary, text: this.#kept };
  }

  #decide(): boolean {
    this.#isBinary = isBinary(this.#kept);
    if (this.#isBinary) this.#kept = NO_BYTES;
    return this.#isBinary;
  }
}
