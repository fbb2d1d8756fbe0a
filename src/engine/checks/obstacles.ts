import { SandboxCommitError, UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { mountsBelow } from "../../system/mount/mount-table.ts";
import { inheritedProject, projectOf } from "../../system/mount/project-quota.ts";
import type { TreeEntry } from "../changes/change-set.ts";

/**
 * Folders of the user's own that do not let him write, with their modes: they are opened up while a landing
 * lasts.
 */
export type Unlocks = readonly { readonly path: string; readonly mode: number }[];

/**
 * Finds, before anything is changed, what would stop a landing: folders and files that are not ours to
 * change, immutable ones, other file systems mounted inside the original. Judges entries one at a time, and
 * throws at the first that is in the way.
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

  /** Folders that have to be opened up for the entries that were judged. */
  get unlocks(): Unlocks {
    return this.#folders.unlocks;
  }

  /** `now` is what is at its path in the original. */
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
    if (this.#user !== 0) this.#judgeAsUser(entry, now, parent);
  }

  #judgeAsUser(entry: TreeEntry, now: Facts, parent: Facts): void {
    const STICKY = 0o1000;
    const label = this.#original.label(entry.path);
    const isOwn = now.uid === this.#user;
    if (entry.operation === "metadata" && !isOwn)
      throw notPermitted(`${label} belongs to another user; its mode, owner and times can't be changed.`);
    if ((parent.mode & STICKY) !== 0 && !isOwn && parent.uid !== this.#user)
      throw notPermitted(`${label} belongs to another user, in a folder where only he may change it.`);
    if (now.kind === "directory" && !isOwn && entry.operation !== "metadata")
      throw notPermitted(`${label} is a folder of another user; it can't be moved.`);
  }
}

/** Looks at the folders that entries are in, each once, and whether names in them may change. */
class FolderJudge {
  readonly unlocks: { path: string; mode: number }[] = [];
  readonly #original: Folder;
  readonly #root: Facts;
  readonly #project: number | undefined;
  readonly #known = new Map<string, Facts>();
  readonly #writable = new Set<string>();

  constructor(original: Folder, root: Facts, project: number | undefined) {
    this.#original = original;
    this.#root = root;
    this.#project = project;
  }

  judge(entry: TreeEntry): Facts {
    const path = parentPath(entry.path);
    const needsWriting = entry.operation !== "metadata";
    const known = this.#known.get(path);
    if (known !== undefined && (!needsWriting || this.#writable.has(path))) return known;
    using folder = this.#original.openBelow(path);
    if (known === undefined) this.#assertSameProject(folder);
    const facts = known ?? this.#look(folder);
    this.#known.set(path, facts);
    if (needsWriting) this.#assertWritable(folder, path, facts);
    return facts;
  }

  #look(folder: Folder): Facts {
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
    this.#writable.add(path);
    if (facts.locked) throw immutable(folder.path);
    if (folder.isWritable()) return;
    if (facts.uid !== process.geteuid?.())
      throw notPermitted(`${folder.path} does not let you change what is in it.`);
    this.unlocks.push({ path, mode: facts.mode });
  }
}

/**
 * What is older than the quota project of its folder may not belong to it, and then the kernel lets it
 * neither out to us nor back in.
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

/** A folder that goes would take a file system that is mounted in it along. */
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
 * Making another name of a file is refused by the kernel for files of others, and beyond a number of names.
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
