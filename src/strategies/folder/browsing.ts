import type { Change } from "../../core/change.ts";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Entry } from "../../core/resource/entry.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { Browsable, ListedPage, Receiving, TakenEntry } from "../../core/strategy-abilities.ts";
import {
  contentPart,
  entriesIn,
  entryAt,
  makeNewFolder,
  removeEntry,
  renameEntry,
  type ShownEntries,
} from "../../engine/sandbox/shown-entries.ts";
import { takeEntry } from "../../engine/sandbox/taken-entries.ts";
import type { FileContent } from "../../engine/sandbox/writing.ts";
import { factsOfOpen } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { openSpooled } from "../../system/data/file-data.ts";

/** The entries of one sandbox. */
export interface BrowsedSandbox {
  readonly entries: ShownEntries;
  /** Checks a path inside the resource, and gives the one among the entries. */
  readonly inside: (path: string) => string;
  /** Whether an entry does not belong to the resource. */
  readonly isHidden: (path: string) => boolean;
}

/** Opens a sandbox, to look at its entries or to change them. */
export type BrowseSandbox = <T>(
  ref: SandboxRef,
  purpose: "look" | "change",
  action: (sandbox: BrowsedSandbox) => T,
) => Promise<T>;

type WriteContent = (ref: SandboxRef, path: string, content: FileContent) => Promise<Change>;

/** The work on single entries, for every strategy that has a tree. */
export class Browsing implements Browsable, Receiving {
  readonly #browse: BrowseSandbox;
  readonly #write: WriteContent;

  constructor(browse: BrowseSandbox, write: WriteContent) {
    this.#browse = browse;
    this.#write = write;
  }

  async stat(ref: SandboxRef, path: string): Promise<Entry | undefined> {
    return await this.#browse(ref, "look", ({ entries, inside }) => entryAt(entries, inside(path), path));
  }

  async list(ref: SandboxRef, path: string, page: ListedPage): Promise<readonly Entry[]> {
    return await this.#browse(ref, "look", ({ entries, inside, isHidden }) =>
      entriesIn(entries, inside(path), page, isHidden),
    );
  }

  async readPart(ref: SandboxRef, path: string, offset: number, length: number): Promise<Uint8Array> {
    return await this.#browse(ref, "look", ({ entries, inside }) =>
      contentPart(entries, inside(path), offset, length),
    );
  }

  async writeFrom(ref: SandboxRef, path: string, file: string): Promise<Change> {
    const fd = openSpooled(file);
    try {
      return await this.#write(ref, path, { fd, size: factsOfOpen(fd, file).size });
    } finally {
      closeFile(fd);
    }
  }

  async makeFolder(ref: SandboxRef, path: string): Promise<void> {
    await this.#browse(ref, "change", ({ entries, inside }) => {
      if (path !== ROOT_PATH) makeNewFolder(entries, inside(path));
    });
  }

  async remove(ref: SandboxRef, path: string): Promise<void> {
    await this.#browse(ref, "change", ({ entries, inside }) => removeEntry(entries, inside(path)));
  }

  async takeOver(ref: SandboxRef, folder: string, taken: readonly TakenEntry[]): Promise<void> {
    using source = Folder.open(folder);
    await this.#browse(ref, "change", ({ entries, inside, isHidden }) => {
      for (const entry of taken)
        if (!isHidden(entry.path)) takeEntry(entries, source, inside(entry.path), entry);
    });
  }

  async rename(ref: SandboxRef, from: string, to: string): Promise<void> {
    await this.#browse(ref, "change", ({ entries, inside }) =>
      renameEntry(entries, inside(from), inside(to)),
    );
  }
}
