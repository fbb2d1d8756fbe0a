import { constants } from "node:os";
import { SystemCallError } from "../../core/errors/errors.ts";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import { OWN_NAME_PREFIX } from "../../engine/workspace/workspace.ts";
import { failedWith, unlessFailed } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { AT_REMOVEDIR, calls, check, pathPointer, RENAME_NOREPLACE } from "../../system/calls/native.ts";
import { setTimesAt } from "../../system/calls/set-times.ts";
import { newId } from "../../system/state/new-id.ts";
import type { OpenName } from "./asked-rename.ts";
import { giveFolderMetadata } from "./folder-metadata.ts";

/**
 * Moves a folder that the overlay refuses to rename, in the view, by steps that it does not refuse:
 *
 * 1. Make a folder aside, at the top of the mount, and link everything into it. A link makes the overlay copy
 *    the file into its own layer, with all that belongs to it. Whatever has such a file open goes on with it.
 * 2. Rename that folder to the new name. This is one step, with the kernel's own answer if the name is taken.
 * 3. Remove the old names. What another thread has made there meanwhile is moved too.
 *
 * If we are killed before 2, the old folder is as it was; the folder aside bears a name of ours, which never
 * lands and which the next move removes. After 2, the new folder is complete, and names of the old one may be
 * left. So no entry is ever without a name. The steps pass no failpoints: they happen inside the view, on
 * behalf of the command, and the tests kill at each by its system call.
 *
 * Returns 0 or an error number. Throws if it can't be done, and then nothing has happened.
 */
export function moveFolder(from: OpenName, to: OpenName, mayReplace: boolean): number {
  // The kernel looks at this only after it has refused to rename.
  if (isFull(to)) return constants.errno.ENOTEMPTY;
  using top = topOfMount(to.folder);
  removeAbandoned(top);
  using source = from.folder.openChild(from.name);
  const facts = source.ownFacts();
  using _ = keepingTimes(top, from, to);
  const aside: OpenName = { folder: top, name: `${OWN_NAME_PREFIX}${newId()}${ASIDE_ENDING}` };
  makeFolder(aside);
  using copy = top.openChild(aside.name);
  calls.flock(copy.fd, LOCK_EX_NB);
  const move = new Move(facts.uid);
  try {
    move.linkAll(source, copy, []);
    giveFolderMetadata(copy, source, facts);
    rename(aside, to, mayReplace ? 0 : RENAME_NOREPLACE);
  } catch (thrown) {
    removeAll(aside);
    if (failedWith(thrown, ...ANSWERED)) return errnoOf(thrown as SystemCallError);
    throw thrown;
  }
  try {
    move.removeOld(from, copy, []);
    return 0;
  } catch (thrown) {
    if (thrown instanceof SystemCallError) return errnoOf(thrown);
    throw thrown;
  }
}

/** The kernel's rename, with the rights of this process. */
export function rename(from: OpenName, to: OpenName, flags: number): void {
  const [name, toName] = [pathPointer(from.name), pathPointer(to.name, 1)];
  check(calls.renameat2(from.folder.fd, name, to.folder.fd, toName, flags), "rename", from.name);
}

/** Failures that the program should know. After others the kernel answers, with EXDEV. */
const ANSWERED = ["ENOSPC", "EDQUOT", "EIO", "EROFS", "ENOTEMPTY", "EEXIST", "ENOTDIR", "ENOENT", "ENOMEM"];
const ASIDE_ENDING = "-moving";
const ASIDE = /^\.drydock-[0-9A-HJKMNP-TV-Z]{26}-moving$/;
/** Each level takes two descriptors. */
const MOST_LEVELS = 200;
/** How often names that others make meanwhile are moved too. */
const ROUNDS = 5;
const LOCK_EX_NB = 2 | 4;
const OWNER_ALL = 0o700;

/** What one move has to remember. Paths are relative to the folder that is moved. */
class Move {
  readonly #owner: number;
  /**
   * The files that have a name in the new folder. An overlay may show one under another number at each name,
   * so both are here.
   */
  readonly #files = new Set<string>();
  /** The folders that were made in the new folder. */
  readonly #folders = new Set<string>();

  constructor(owner: number) {
    this.#owner = owner;
  }

  linkAll(from: Folder, to: Folder, path: readonly string[]): void {
    if (path.length > MOST_LEVELS) throw impossible("has too many levels", from);
    const { mountId } = from.ownFacts();
    for (const name of from.names()) {
      const facts = from.facts(name);
      if (facts === undefined) continue;
      // A mount can't be moved, and what belongs to another user can neither be copied nor removed.
      if (facts.mountId !== mountId || facts.uid !== this.#owner) throw impossible("is not ours", from);
      if (facts.kind === "directory") this.#linkFolder(from, to, [...path, name]);
      else this.#link(from, to, name, facts);
    }
  }

  #linkFolder(from: Folder, to: Folder, path: readonly string[]): void {
    const name = path.at(-1) ?? "";
    using source = from.openChild(name);
    const facts = source.ownFacts();
    makeFolder({ folder: to, name });
    using copy = to.openChild(name);
    this.#folders.add(path.join("/"));
    this.linkAll(source, copy, path);
    giveFolderMetadata(copy, source, facts);
  }

  #link(from: Folder, to: Folder, name: string, facts: Facts): void {
    const result = calls.linkat(from.fd, pathPointer(name, 1), to.fd, pathPointer(name), 0);
    check(result, "link", from.label(name));
    for (const each of [facts, to.facts(name)]) if (each !== undefined) this.#files.add(keyOf(each));
  }

  /** Removes a folder of the old tree, with all that the new one has. What came meanwhile moves there. */
  removeOld(old: OpenName, to: Folder, path: readonly string[]): void {
    openUp(old);
    using from = old.folder.openChild(old.name);
    for (let round = 1; ; round += 1) {
      for (const name of from.names()) this.#removeName({ folder: from, name }, to, [...path, name]);
      try {
        unlink(old, AT_REMOVEDIR);
        return;
      } catch (thrown) {
        if (round === ROUNDS || !failedWith(thrown, "ENOTEMPTY")) throw thrown;
      }
    }
  }

  #removeName(old: OpenName, to: Folder, path: readonly string[]): void {
    const facts = old.folder.facts(old.name);
    if (facts === undefined) return;
    if (facts.kind === "directory" && this.#folders.has(path.join("/"))) {
      using copy = to.openChild(old.name);
      this.removeOld(old, copy, path);
    } else if (this.#files.has(keyOf(facts))) unlink(old, 0);
    else rename(old, { folder: to, name: old.name }, 0);
  }
}

function keyOf({ device, ino }: Facts): string {
  return `${device}:${ino}`;
}

function isFull({ folder, name }: OpenName): boolean {
  using there = folder.openBelowIfThere(name);
  return there !== undefined && there.names().length > 0;
}

function makeFolder({ folder, name }: OpenName): void {
  check(calls.mkdirat(folder.fd, pathPointer(name), 0o700), "mkdir", folder.label(name));
}

/** A name that another process has removed counts as removed. */
function unlink({ folder, name }: OpenName, flags: number): void {
  unlessFailed(["ENOENT"], () =>
    check(calls.unlinkat(folder.fd, pathPointer(name), flags), "unlink", folder.label(name)),
  );
}

/** Lets us remove names from a folder whose owner may not write to it. A rename would not need that. */
function openUp({ folder, name }: OpenName): void {
  const mode = folder.facts(name)?.mode ?? OWNER_ALL;
  if ((mode & OWNER_ALL) === OWNER_ALL) return;
  using opened = new Folder(folder.openHandle(name), name);
  check(calls.chmod(pathPointer(`/proc/self/fd/${opened.fd}`), mode | OWNER_ALL), "chmod", name);
}

function removeAll(entry: OpenName): void {
  const { folder, name } = entry;
  if (folder.facts(name)?.kind !== "directory") {
    unlink(entry, 0);
    return;
  }
  openUp(entry);
  using inside = folder.openChild(name);
  for (const child of inside.names()) removeAll({ folder: inside, name: child });
  unlink(entry, AT_REMOVEDIR);
}

/** Removes what a supervisor left aside that was killed. One that lives holds a lock. */
function removeAbandoned(top: Folder): void {
  for (const name of top.names().filter((each) => ASIDE.test(each))) {
    using left = top.openBelowIfThere(name);
    if (left !== undefined && calls.flock(left.fd, LOCK_EX_NB) === 0) removeAll({ folder: top, name });
  }
}

/** Gives the top its times back at the end: a rename moves only those of the two folders that it is in. */
function keepingTimes(top: Folder, from: OpenName, to: OpenName): Disposable {
  const before = top.ownFacts();
  const isOfRename = [from, to].some(({ folder }) => folder.ownFacts().ino === before.ino);
  return {
    [Symbol.dispose]: () => {
      if (!isOfRename) check(setTimesAt(top.fd, ROOT_PATH, before), "utimensat", top.path);
    },
  };
}

/** The folder that the mount of this one begins with. */
function topOfMount(folder: Folder): Folder {
  let top = folder.openChild("..");
  let below = folder.openChild(".");
  while (isAbove(top, below)) {
    below.close();
    below = top;
    top = below.openChild("..");
  }
  top.close();
  return below;
}

/** Whether one folder is above another in the same mount. The root is its own parent. */
function isAbove(above: Folder, folder: Folder): boolean {
  const [one, other] = [above.ownFacts(), folder.ownFacts()];
  return one.mountId === other.mountId && one.ino !== other.ino;
}

function impossible(what: string, folder: Folder): SystemCallError {
  return new SystemCallError("EXDEV", "rename", folder.path, what);
}

function errnoOf({ code }: SystemCallError): number {
  return (constants.errno as { readonly [name: string]: number })[code] ?? constants.errno.EIO;
}
