import { baseName } from "../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../../system/calls/errno.ts";
import { type Facts, factsOfOpen, sameTime } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { digestOf } from "../../system/data/digest.ts";
import { readBytes } from "../../system/data/file-data.ts";
import { createOwn, parsed, readWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { newId } from "../../system/state/new-id.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import { OpenParent } from "../tree/open-parent.ts";

/**
 * The content that changed files had when the sandbox began, so that an update can merge three ways.
 *
 * Another writer may change the original in place, and then its earlier content is nowhere else. So it is
 * copied as soon as a change of the sandbox is seen: after each command, each write of ours, each checkpoint
 * of a copied tree and each diff. At that moment the original must still be the base (own-touches.ts). If
 * another writer was faster, there is no base content, and the file can't be merged.
 *
 *   bases/KEY-SIZE      the content, of so many bytes, and behind it the base facts: JSON. KEY is a digest of
 *                       the path and of the base, so that a base that moves gets another one, and one that a
 *                       restore brings back is found again
 *   bases/ID            the same while it is written; a crash may leave it
 *
 * An overlay may learn the facts of a base only after another writer has changed it, and knows by the barrier
 * alone that it has. So the KEY of a base without a change time is of the path alone: it stands for the
 * content before T0, or before the last part that landed.
 *
 * Several processes may keep bases of one sandbox at once. Nothing here is flushed: a file that a power cut
 * damages is shorter or has zeros, also in its facts, and counts as missing.
 */
const POINTS = {
  folder: failpoint("merge.create-bases"),
  file: failpoint("merge.keep-base"),
  name: failpoint("merge.name-base"),
};
export const BASES = "bases";
/** Between the key of a file and its size. */
const DASH = "-";

/** A path with the base of the work there. */
export interface BasedPath {
  readonly path: string;
  readonly before?: BaseFacts | undefined;
}

interface KeptBase {
  readonly content: Buffer;
  readonly facts: BaseFacts;
}

/** Whether an entry of the original is still the base. */
type IsStillBase = (now: Facts | undefined, base: BaseFacts) => boolean;

export class BaseContents {
  readonly #workspace: Folder;
  readonly #most: number;
  /** The names in the folder by their keys, once they are asked for. */
  #names: ReadonlyMap<string, string> | undefined;

  /** A file of more than `most` bytes is not kept. */
  constructor(workspace: Folder, most: number) {
    this.#workspace = workspace;
    this.#most = most;
  }

  /** Keeps the base content of these paths, as far as the original still has it. */
  keep(paths: Iterable<BasedPath>, original: Folder, isStillBase: IsStillBase): void {
    using parents = new OpenParent(original);
    let folder: Folder | undefined;
    try {
      for (const { path, before } of paths) {
        if (before === undefined || !this.#isKept(before)) continue;
        folder ??= this.#workspace.ensureFolder(POINTS.folder, BASES);
        const kept = `${keyOf(path, before)}${DASH}${before.size}`;
        const parent = folder.facts(kept) === undefined ? parents.of(path) : undefined;
        const name = baseName(path);
        if (parent === undefined || !isStillBase(parent.facts(name), before)) continue;
        const content = readStill(parent, name, (now) => isStillBase(now, before));
        if (content === undefined) continue;
        place(folder, kept, Buffer.concat([content, Buffer.from(JSON.stringify(before))]));
        this.#names = undefined;
      }
    } catch (thrown) {
      // Work goes on without it, and an update says that it is missing.
      if (!failedWith(thrown, "ENOSPC", "EDQUOT")) throw thrown;
    } finally {
      folder?.close();
    }
  }

  /** The base content of a path; undefined if it was not kept. */
  read(path: string, base: BaseFacts): Buffer | undefined {
    if (base.size === 0 && base.ctime !== undefined) return Buffer.alloc(0);
    return this.#kept(path, base)?.content;
  }

  /** The base of a path as it was when its content was kept; these facts, if it was not. */
  factsOf(path: string, base: BaseFacts): BaseFacts {
    return this.#kept(path, base)?.facts ?? base;
  }

  #kept(path: string, base: BaseFacts): KeptBase | undefined {
    using folder = this.#workspace.openBelowIfThere(BASES);
    if (folder === undefined) return undefined;
    this.#names ??= new Map(folder.names().map((name) => [name.split(DASH)[0] ?? name, name]));
    const name = this.#names.get(keyOf(path, base));
    const bytes = name === undefined ? undefined : readWhole(folder, name);
    const size = Number(name?.split(DASH)[1]);
    const facts = bytes && parsed<BaseFacts>(bytes.subarray(size));
    return bytes === undefined || facts === undefined
      ? undefined
      : { content: bytes.subarray(0, size), facts };
  }

  #isKept({ kind, size }: BaseFacts): boolean {
    return kind === "file" && size <= this.#most;
  }
}

/** The content of a file; undefined if it changes meanwhile, is gone, or may not be read by this user. */
function readStill(parent: Folder, name: string, isBase: (now: Facts | undefined) => boolean) {
  const fd = unlessFailed(["EACCES", "ENOENT", "ELOOP"], () => parent.openFile(name));
  if (fd === undefined) return undefined;
  try {
    const { ctime } = factsOfOpen(fd, parent.label(name));
    const bytes = readBytes(fd, parent.label(name));
    const now = parent.facts(name);
    return now !== undefined && sameTime(now.ctime, ctime) && isBase(now) ? bytes : undefined;
  } finally {
    closeFile(fd);
  }
}

/** Gives the file its name when it is complete. Another process may do the same. */
function place(folder: Folder, name: string, bytes: Uint8Array): void {
  const fresh = newId();
  createOwn(POINTS.file, folder, fresh, bytes);
  folder.replace(POINTS.name, fresh, folder, name);
}

/** The key of a base; without facts, of the content before T0. */
function keyOf(path: string, base?: BaseFacts): string {
  const facts = base?.ctime === undefined ? [] : [base.ino, base.btime, base.mtime, base.ctime];
  return digestOf(JSON.stringify([path, ...facts])).slice(0, 32);
}
