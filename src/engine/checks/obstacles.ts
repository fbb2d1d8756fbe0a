import { SandboxCommitError, UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import { PathStack } from "../../core/paths/path-stack.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { mountsBelow } from "../../system/mount/mount-table.ts";
import { inheritedProject, projectOf } from "../../system/mount/project-quota.ts";
import type { TreeEntry } from "../changes/change-set.ts";

/** Folders of this user without write permission, with their modes. They are opened up during a landing. */
export type Unlocks = readonly { readonly path: string; readonly mode: number }[];

/**
 * Finds what would stop a landing, before anything is changed: folders and files that we may not change,
 * immutable ones, other file systems mounted inside the original. Judges one entry at a time, and throws at
 * the first obstacle.
 */
export class Obstacles {
  readonly #original: Folder;
  readonly #root: Facts;
  readonly #project: number | undefined;
  readonly #folders: FolderJudge;
  readonly #mounts: readonly string[];
  readonly #user = process.geteuid?.() ?? 0;

  constructor(original: Folder) {
    this.#original = original;
    this.#root = original.ownFacts();
    this.#project = inheritedProject(original);
    this.#folders = new FolderJudge(original, this.#root, this.#project);
    this.#mounts = mountsBelow(original.path);
  }

  /** The folders to open up for the entries judged so far. */
  get unlocks(): Unlocks {
    return this.#folders.unlocks;
  }

  /** `now` is the original's entry at the path. */
  judge(entry: TreeEntry, now: Facts | undefined): void {
    const parent = this.#folders.judge(entry);
    if (now !== undefined) this.#judgeTarget(entry, now, parent);
    assertNoMountInside(this.#original, entry, this.#mounts);
    if (this.#project !== undefined) assertOfProject(this.#original, entry, now, this.#project);
  }

  #judgeTarget(entry: TreeEntry, now: Facts, parent: Facts): void {
    if (now.locked) throw immutable(this.#original.label(entry.path));
    if (
      now.mountId !== this.#root.mountId ||
      (now.kind === "directory" && now.device !== this.#root.device)
    ) {
      const label = this.#original.label(entry.path);
      throw new UnsupportedError(`${label} is a mount point; it can't be replaced or removed.`, {
        hint: "Unmount it first.",
      });
    }
    if (now.device !== this.#root.device)
      throw new UnsupportedError(
        `${this.#original.label(entry.path)} is of a layer on another file system; as what it is known changes when it does.`,
        { hint: "Copy the folder to a volume, a bind mount or a tmpfs, and work on it there." },
      );
    if (this.#user !== 0) this.#judgeAsUser(entry, now, parent);
  }

  #judgeAsUser(entry: TreeEntry, now: Facts, parent: Facts): void {
    const STICKY = 0o1000;
    const label = this.#original.label(entry.path);
    const isOwn = now.uid === this.#user;
    if (entry.operation === "metadata" && !isOwn)
      throw notPermitted(`${label} belongs to another user; its mode, owner and times can't be changed.`);
    if ((parent.mode & STICKY) !== 0 && !isOwn && parent.uid !== this.#user)
      throw notPermitted(`${label} belongs to another user, in a folder where only its owner may change it.`);
    if (now.kind === "directory" && !isOwn && entry.operation !== "metadata")
      throw notPermitted(`${label} is a folder of another user; it can't be moved.`);
  }
}

/** Checks whether names in a folder may change, once for each folder. The entries come in path order. */
class FolderJudge {
  readonly unlocks: { path: string; mode: number }[] = [];
  readonly #original: Folder;
  readonly #root: Facts;
  readonly #project: number | undefined;
  readonly #known = new PathStack<{ readonly facts: Facts; isWritable: boolean }>();

  constructor(original: Folder, root: Facts, project: number | undefined) {
    this.#original = original;
    this.#root = root;
    this.#project = project;
  }

  judge(entry: TreeEntry): Facts {
    const path = parentPath(entry.path);
    const needsWriting = entry.operation !== "metadata";
    const known = this.#known.find(path)?.value;
    if (known !== undefined && (!needsWriting || known.isWritable)) return known.facts;
    using folder = this.#original.openBelow(path);
    const judged = known ?? this.#known.add(path, { facts: this.#look(folder), isWritable: false });
    if (needsWriting) this.#assertWritable(folder, path, judged.facts);
    judged.isWritable ||= needsWriting;
    return judged.facts;
  }

  #look(folder: Folder): Facts {
    this.#assertSameProject(folder);
    const facts = folder.ownFacts();
    if (facts.mountId === this.#root.mountId && facts.device === this.#root.device) return facts;
    throw new UnsupportedError(
      `${folder.path} is another file system mounted inside the original; nothing can land there.`,
      {
        hint: "Make it a resource of its own in the plan.",
      },
    );
  }

  #assertSameProject(folder: Folder): void {
    if (inheritedProject(folder) === this.#project) return;
    throw new UnsupportedError(
      `${folder.path} belongs to another quota project than the original; nothing can be moved there.`,
      {
        hint: "Make it a resource of its own in the plan.",
      },
    );
  }

  #assertWritable(folder: Folder, path: string, facts: Facts): void {
    if (facts.locked) throw immutable(folder.path);
    if (folder.isWritable()) return;
    if (facts.uid !== process.geteuid?.())
      throw notPermitted(`${folder.path} does not let you change what is in it.`);
    this.unlocks.push({ path, mode: facts.mode });
  }
}

/**
 * Refuses an entry of another quota project than its folder's, for example one that is older than the
 * project: the kernel lets it move neither out nor back in.
 */
function assertOfProject(original: Folder, entry: TreeEntry, now: Facts | undefined, project: number): void {
  if (entry.operation === "metadata" || (now?.kind !== "file" && now?.kind !== "directory")) return;
  using parent = original.openBelow(parentPath(entry.path));
  if (projectOf(parent, baseName(entry.path)) === project) return;
  throw new UnsupportedError(
    `${original.label(entry.path)} belongs to another quota project than the folder it is in; it can't be moved.`,
    {
      hint: `Put it into project ${project} too, with 'xfs_quota -x -c "project -s …"' or 'chattr -p ${project}'.`,
    },
  );
}

/** Refuses to remove or replace a folder with a file system mounted in it. */
function assertNoMountInside(
  original: Folder,
  { path, operation, before }: TreeEntry,
  mounts: readonly string[],
): void {
  if (before?.kind !== "directory" || operation === "metadata") return;
  const mounted = mounts.find((point) => point.startsWith(`${original.label(path)}/`));
  if (mounted === undefined) return;
  throw new UnsupportedError(
    `${mounted} is mounted inside ${original.label(path)}, which the plan removes or replaces.`,
    {
      hint: "Unmount it first, or leave that folder alone.",
    },
  );
}

/**
 * Refuses a file that can't get another name: the kernel allows none for files of other users, nor beyond a
 * limit.
 */
export function assertLinkable(original: Folder, path: string): void {
  const MOST_NAMES = 60_000;
  const facts = original.factsBelow(path);
  const user = process.geteuid?.();
  if (facts === undefined) return;
  if (user !== 0 && facts.uid !== user)
    throw notPermitted(
      `${original.label(path)} belongs to another user, so no other name of it can be made.`,
    );
  if (facts.nlink > MOST_NAMES) throw notPermitted(`${original.label(path)} has too many names already.`);
}

function immutable(label: string): SandboxCommitError {
  return new SandboxCommitError(`${label} is immutable.`, {
    hint: `Run 'chattr -i -a' on it if it is meant to change.`,
    code: "IMMUTABLE",
  });
}

function notPermitted(message: string): SandboxCommitError {
  return new SandboxCommitError(message, {
    hint: "Run Drydock as its owner, or change its permissions.",
    code: "EACCES",
  });
}
