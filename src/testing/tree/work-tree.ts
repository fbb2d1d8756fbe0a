import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { copyEntry } from "../../engine/tree/copy-tree.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import { failedWith } from "../../system/calls/errno.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs, writeXattrs } from "../../system/calls/xattrs.ts";
import { writeBytes } from "../../system/data/file-data.ts";
import { openToEdit, resizeFile, writeAt } from "../../system/data/file-editing.ts";
import type { Failpoint } from "../../system/failpoints.ts";

/** The failpoint of the suite's own steps. It is not in Drydock's list, so no crash test stops here. */
const POINT = "conformance.step" as Failpoint;

/** Work in a folder, as a function of it. */
export type Steps = (tree: WorkTree) => void;

/** The start of the first era, in seconds; eras are a day apart. */
const FIRST_ERA = 1_500_000_000;
const ERA = 86_400;

/**
 * A folder, and the steps that programs take in one. The same steps in two folders end with equal folders in
 * every attribute: each step sets the time of each entry that it touches to the next tick of the tree's own
 * clock, and modes do not depend on the umask.
 */
export class WorkTree {
  readonly path: string;
  readonly #folder: Folder;
  readonly #era: number;
  readonly #copiesFolders: boolean;
  #ticks = 0;

  /**
   * `era` says when the clock of this tree begins. With `copiesFolders`, a folder that can't be renamed is
   * copied and removed.
   */
  constructor(path: string, era = 0, { copiesFolders = false }: { readonly copiesFolders?: boolean } = {}) {
    this.path = path;
    this.#folder = Folder.open(path);
    this.#era = era;
    this.#copiesFolders = copiesFolders;
  }

  [Symbol.dispose](): void {
    this.#folder.close();
  }

  /** Writes a file, in place if it exists. */
  write(path: string, content: string | Uint8Array): void {
    this.#inParent(path, (parent, name) => {
      const isNew = parent.facts(name) === undefined;
      const fd = isNew ? parent.createFile(POINT, name, 0o600) : parent.openToOverwrite(POINT, name);
      closing(fd, () => writeBytes(POINT, fd, toBytes(content), parent.label(name)));
      if (isNew) parent.setMode(POINT, name, 0o644);
    });
    this.#tick(path);
  }

  /** Writes a file as editors do: a new file replaces the old one. */
  replace(path: string, content: string | Uint8Array): void {
    this.remove(path);
    this.write(path, content);
  }

  /** Writes into a file at this offset; beyond its end that makes a hole. */
  writeAt(path: string, at: number, content: string | Uint8Array): void {
    this.#edit(path, (fd, label) => writeAt(POINT, { fd, label }, at, toBytes(content)));
  }

  append(path: string, content: string | Uint8Array): void {
    this.writeAt(path, this.#factsOf(path).size, content);
  }

  truncate(path: string, size: number): void {
    this.#edit(path, (fd, label) => resizeFile(POINT, fd, size, label));
  }

  makeFolder(path: string, mode = 0o755): void {
    this.#inParent(path, (parent, name) => {
      parent.createFolder(POINT, name, 0o700);
      parent.setMode(POINT, name, mode);
    });
    this.#tick(path);
  }

  makeLink(path: string, target: string): void {
    this.#inParent(path, (parent, name) => parent.createLink(POINT, name, target));
    this.#tick(path);
  }

  makeHardLink(path: string, existing: string): void {
    using from = this.#folder.openBelow(parentPath(existing));
    this.#inParent(path, (parent, name) => parent.createHardLink(POINT, name, from, baseName(existing)));
    this.#tick(path);
  }

  makeFifo(path: string): void {
    this.#inParent(path, (parent, name) => {
      parent.createNode(POINT, name, { ...parent.ownFacts(), kind: "fifo", mode: 0o600, rdev: "0:0" });
    });
    this.#tick(path);
  }

  /** Removes an entry, a folder with its content. */
  remove(path: string): void {
    this.#inParent(path, (parent, name) => removeTree(POINT, parent, name));
    this.#tick(parentPath(path));
  }

  rename(from: string, to: string): void {
    using target = this.#folder.openBelow(parentPath(to));
    const isCopied = this.#copiesFolders && this.facts(from)?.kind === "directory";
    const move = isCopied ? copyAndRemove : moveOrCopy;
    this.#inParent(from, (parent, name) => move(parent, name, target, baseName(to)));
    this.#tick(parentPath(from));
    this.#tick(to);
  }

  setMode(path: string, mode: number): void {
    this.#on(path, (folder, name) => folder.setMode(POINT, name, mode));
  }

  setOwner(path: string, uid: number, gid: number): void {
    this.#on(path, (folder, name) => folder.setOwner(POINT, name, uid, gid));
  }

  setTime(path: string, mtime: Time): void {
    this.#on(path, (folder, name) => folder.setTimes(POINT, name, { mtime }));
  }

  /**
   * Sets an extended attribute, or removes it without a value. Returns the names that the file system does
   * not take.
   */
  setXattr(path: string, key: string, value?: string): readonly string[] {
    return this.#on(path, (folder, name) => {
      const { [key]: _, ...others } = readXattrs(folder, name);
      const wanted =
        value === undefined ? others : { ...others, [key]: Buffer.from(value).toString("base64") };
      return writeXattrs(POINT, folder, name, wanted, readXattrs(folder, name));
    });
  }

  /** The facts of an entry; undefined if there is none. */
  facts(path: string): Facts | undefined {
    return this.#on(path, (folder, name) => folder.facts(name));
  }

  names(path = ROOT_PATH): string[] {
    using folder = this.#folder.openBelow(path);
    return folder.names().sort();
  }

  #factsOf(path: string): Facts {
    const facts = this.facts(path);
    if (facts === undefined) throw new Error(`there is no ${joinPath(this.path, path)}`);
    return facts;
  }

  #edit(path: string, action: (fd: number, label: string) => void): void {
    this.#on(path, (folder, name) => {
      const fd = openToEdit(POINT, folder, name);
      closing(fd, () => action(fd, folder.label(name)));
    });
    this.#tick(path);
  }

  /** Sets the times of this entry and of its folder to the next tick. */
  #tick(path: string): void {
    this.#ticks += 1;
    const time: Time = [FIRST_ERA + this.#era * ERA + this.#ticks, this.#ticks * 1001];
    for (const touched of new Set([path, parentPath(path)])) this.setTime(touched, time);
  }

  #on<T>(path: string, action: (folder: Folder, name: string) => T): T {
    return path === ROOT_PATH ? action(this.#folder, ROOT_PATH) : this.#inParent(path, action);
  }

  #inParent<T>(path: string, action: (parent: Folder, name: string) => T): T {
    using parent = this.#folder.openBelow(parentPath(path));
    return action(parent, baseName(path));
  }
}

function toBytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}

function closing(fd: number, action: () => void): void {
  try {
    action();
  } finally {
    closeFile(fd);
  }
}

/** Renames; copies a folder that can't be renamed with its content, as mv does. */
function moveOrCopy(from: Folder, name: string, to: Folder, toName: string): void {
  try {
    from.move(POINT, name, to, toName);
  } catch (thrown) {
    if (!failedWith(thrown, "EXDEV")) throw thrown;
    copyAndRemove(from, name, to, toName);
  }
}

function copyAndRemove(from: Folder, name: string, to: Folder, toName: string): void {
  runAtOnce(copyEntry({ folder: from, name }, { folder: to, name: toName }, { data: "copy" }));
  removeTree(POINT, from, name);
}
