import type { Conflict } from "../../core/errors/errors.ts";
import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { PathStack } from "../../core/paths/path-stack.ts";
import { failedWith } from "../../system/calls/errno.ts";
import {
  compareTimes,
  type Facts,
  lastFacts,
  sameIdentity,
  sameTime,
  statListed,
  type Time,
} from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readNames } from "../../system/calls/listing.ts";
import { readXattrs, sameXattrs } from "../../system/calls/xattrs.ts";
import { isAfter } from "../base/barrier.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { Age } from "../base/own-touches.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import { sameEntry } from "../tree/same-entry.ts";
import { OWN_NAME } from "../workspace/workspace.ts";

/**
 * Whether another writer changed, in the original, what the plan changes too. One table for all folder
 * strategies:
 *
 * | the plan                             | the original now                                | verdict        |
 * |--------------------------------------|-------------------------------------------------|----------------|
 * | modifies, deletes or retypes an entry| there, changed before T0                        | fine           |
 * |                                      | changed at or after T0, another inode, or gone  | conflict       |
 * | adds an entry                        | nothing there                                   | fine           |
 * |                                      | something there                                 | conflict       |
 * | adds into a folder                   | another writer added there too                  | fine           |
 * | changes metadata of a folder         | its own differs from the base, changed after T0 | conflict       |
 * | deletes or replaces a folder         | anything inside changed at or after T0          | conflict       |
 * | changes anything below a folder      | it or one above is gone, replaced, or a link    | conflict       |
 *
 * A conflict in which the original already has the outcome of the plan is none. "Same outcome" entries have
 * nothing left to do and drop out.
 */
export interface ConflictCheck {
  readonly original: Folder;
  readonly sandbox: Folder;
  /** Since T0 of the sandbox. */
  readonly age: Age;
  /** The base of this path. */
  readonly baseOf: (path: string) => BaseFacts | undefined;
}

/**
 * The original's entry at a path where an entry may land; or that nothing is there, that the outcome is there
 * already, or that it is a conflict.
 */
export type JudgedEntry = Facts | "nothing" | "done" | "conflict";

/** Judges entries one at a time, in path order. */
export class Conflicts implements Disposable {
  readonly found: Conflict[] = [];
  /** The paths among them that are in conflict only because of a folder above. */
  readonly below = new Set<string>();
  readonly #check: ConflictCheck;
  readonly #ancestors: Ancestors;

  constructor(check: ConflictCheck) {
    this.#check = check;
    this.#ancestors = new Ancestors(check);
  }

  judge(entry: TreeEntry): JudgedEntry {
    const parent = this.#ancestors.open(entry.path);
    if (typeof parent === "string") {
      this.below.add(entry.path);
      return this.add(entry, parent);
    }
    const name = baseName(entry.path);
    const now = parent.facts(name);
    const why = now === undefined ? verdictOnNothing(entry) : this.#verdict({ entry, parent, name, now });
    if (why === undefined) return now ?? "nothing";
    return why === "done" ? "done" : this.add(entry, why);
  }

  [Symbol.dispose](): void {
    this.#ancestors[Symbol.dispose]();
  }

  add({ path }: TreeEntry, why: string): "conflict" {
    this.found.push({ path, why });
    return "conflict";
  }

  /**
   * Returns undefined if the entry may land, "done" if the original has the outcome already, or else why it
   * is a conflict.
   */
  #verdict(there: FoundEntry): string | undefined {
    const { operation, before } = there.entry;
    if (before === undefined) return this.#isSameOutcome(there) ? "done" : "added in the original too";
    if (operation === "metadata" && before.kind === "directory") return this.#folderMetadata(there, before);
    const why = this.#changedSince(there, before);
    return why !== undefined && this.#isSameOutcome(there) ? "done" : why;
  }

  #changedSince({ parent, name, now }: FoundEntry, before: BaseFacts): string | undefined {
    if (!sameIdentity(now, before)) return "replaced in the original";
    if (this.#isAfter(now) && !wasCopiedLikeThis(now, before)) return "changed in the original";
    if (before.kind !== "directory") return undefined;
    using folder = parent.openChild(name);
    const changed = firstChangeBelow(folder, this.#check.age.barrier, (facts) => !this.#isAfter(facts));
    return changed === undefined ? undefined : `changed in the original: ${changed}`;
  }

  #isAfter(facts: Facts): boolean {
    return this.#check.age.isSince(facts);
  }

  #folderMetadata({ parent, name, now }: FoundEntry, before: BaseFacts): string | undefined {
    if (!sameIdentity(now, before)) return "replaced in the original";
    if (!this.#isAfter(now)) return undefined;
    // Adding or removing names moves both times; another mode or owner moves only the change time.
    const isTheirs = before.changedBefore === true && compareTimes(before.mtime, this.#check.age.barrier) < 0;
    const same =
      !isTheirs &&
      now.mode === before.mode &&
      now.uid === before.uid &&
      now.gid === before.gid &&
      sameXattrs(readXattrs(parent, name), before.xattrs);
    return same ? undefined : "mode, owner or attributes changed in the original";
  }

  #isSameOutcome({ entry: { path, after }, parent, name }: FoundEntry): boolean {
    if (after === undefined || path === ROOT_PATH) return false;
    using sandboxParent = this.#check.sandbox.openBelow(parentPath(path));
    return sameEntry(sandboxParent, name, parent, name);
  }
}

/** An entry, and what is at its path in the original. */
interface FoundEntry {
  readonly entry: TreeEntry;
  readonly parent: Folder;
  readonly name: string;
  readonly now: Facts;
}

function verdictOnNothing({ operation }: TreeEntry): string | undefined {
  if (operation === "add") return undefined;
  return operation === "delete" ? "done" : "deleted in the original";
}

/** Conflicts of files that stay and get other names: their content is part of the landing. */
export function anchorConflicts(
  check: ConflictCheck,
  links: readonly { readonly path: string; readonly linkTo: string }[],
): Conflict[] {
  return links.flatMap(({ path, linkTo }) => {
    const now = check.original.factsBelow(linkTo);
    const base = check.baseOf(linkTo);
    const isSame = now !== undefined && base !== undefined && sameIdentity(now, base);
    if (isSame && (!check.age.isSince(now) || wasCopiedLikeThis(now, base))) return [];
    return [{ path, why: `${linkTo}, which it is another name of, changed in the original` }];
  });
}

/** Whether the entry changed after the barrier but before it was copied: the sandbox has this version. */
function wasCopiedLikeThis(now: Facts, before: BaseFacts): boolean {
  return before.kind !== "directory" && before.ctime !== undefined && sameTime(now.ctime, before.ctime);
}

/** The path of an entry below this folder that another writer changed at or after the barrier. */
export function firstChangeBelow(
  folder: Folder,
  barrier: Time,
  isOurs: (facts: Facts, path: string) => boolean = () => false,
  path: string = ROOT_PATH,
): string | undefined {
  let changed: string | undefined;
  const folders: string[] = [];
  readNames(folder, (name, pointer) => {
    if (changed !== undefined || !statListed(folder, pointer)) return;
    const facts = lastFacts();
    // The workspace of another plan must not be moved.
    if (OWN_NAME.test(name)) changed = joinPath(path, name);
    else if (isAfter(facts, barrier) && !isOurs(facts, joinPath(path, name))) changed = joinPath(path, name);
    else if (facts.kind === "directory") folders.push(name);
  });
  for (const name of folders) {
    if (changed !== undefined) break;
    using below = folder.openChild(name);
    changed = firstChangeBelow(below, barrier, isOurs, joinPath(path, name));
  }
  return changed;
}

/** Opens the folders above entries, and checks that each is still the one that the plan knew. */
class Ancestors {
  readonly #check: ConflictCheck;
  readonly #judged = new PathStack<string | undefined>();
  #open: { readonly path: string; readonly folder: Folder } | undefined;

  constructor(check: ConflictCheck) {
    this.#check = check;
  }

  /** The folder that holds this path, or why it is a conflict. */
  open(path: string): Folder | string {
    const folderPath = parentPath(path);
    if (this.#open?.path === folderPath) return this.#open.folder;
    const why = this.#judge(folderPath);
    if (why !== undefined) return why;
    this.#open?.folder.close();
    this.#open = { path: folderPath, folder: this.#check.original.openBelow(folderPath) };
    return this.#open.folder;
  }

  [Symbol.dispose](): void {
    this.#open?.folder.close();
  }

  #judge(path: string): string | undefined {
    const known = this.#judged.find(path);
    if (known !== undefined) return known.value;
    const above = path === ROOT_PATH ? undefined : this.#judge(parentPath(path));
    return this.#judged.add(path, above ?? this.#judgeItself(path));
  }

  #judgeItself(path: string): string | undefined {
    const base = this.#check.baseOf(path);
    // The folder around a single file does not belong to the resource.
    if (path === ROOT_PATH && base === undefined) return undefined;
    try {
      using folder = this.#check.original.openBelow(path);
      if (base !== undefined && sameIdentity(folder.ownFacts(), base)) return undefined;
      return path === ROOT_PATH
        ? "the original itself was replaced"
        : `its folder ${path} was replaced in the original`;
    } catch (thrown) {
      if (failedWith(thrown, "ENOENT")) return `its folder ${path} was deleted in the original`;
      if (failedWith(thrown, "ENOTDIR", "ELOOP", "EXDEV"))
        return `its folder ${path} is no longer a folder in the original`;
      throw thrown;
    }
  }
}
