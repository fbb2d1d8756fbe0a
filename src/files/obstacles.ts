import { parentPath, ROOT_PATH } from "../core/byte-path.ts";
import { SandboxCommitError, UnsupportedError } from "../core/errors.ts";
import type { Facts } from "../system/facts.ts";
import type { Folder } from "../system/folder.ts";
import type { TreeEntry } from "./change-set.ts";

/** Folders of the user's own that do not let him write, with their modes: they are opened up while a landing lasts. */
export type Unlocks = readonly { readonly path: string; readonly mode: number }[];

/**
 * Finds, before anything is changed, what would stop a landing: folders and files that are not ours to change, immutable ones, other
 * file systems mounted inside the original.
 */
export function findObstacles(
  original: Folder,
  entries: readonly { readonly entry: TreeEntry; readonly now: Facts | undefined }[],
): Unlocks {
  const root = original.ownFacts();
  const unlocks: { path: string; mode: number }[] = [];
  const parents = new Map<string, Facts>();
  for (const { entry, now } of entries) {
    const folderPath = entry.path === ROOT_PATH ? ROOT_PATH : parentPath(entry.path);
    let parent = parents.get(folderPath);
    if (parent === undefined) {
      parent = judgeFolder(original, folderPath, root, entry, unlocks);
      parents.set(folderPath, parent);
    }
    judgeTarget(original, entry, now, parent, root);
  }
  return unlocks;
}

function judgeFolder(
  original: Folder,
  path: string,
  root: Facts,
  entry: TreeEntry,
  unlocks: { path: string; mode: number }[],
): Facts {
  using folder = original.openBelow(path);
  const facts = folder.ownFacts();
  if (facts.mountId !== root.mountId) {
    throw new UnsupportedError(
      `${folder.path} is another file system mounted inside the original, so nothing can land there as one.`,
      {
        hint: "Make it a resource of its own in the plan.",
      },
    );
  }
  if (entry.operation === "metadata") return facts;
  if (facts.locked) throw immutable(folder.path);
  if (folder.isWritable()) return facts;
  if (facts.uid !== process.geteuid?.()) throw notPermitted(`${folder.path} does not let you change what is in it.`);
  unlocks.push({ path, mode: facts.mode });
  return facts;
}

function judgeTarget(original: Folder, entry: TreeEntry, now: Facts | undefined, parent: Facts, root: Facts): void {
  if (now === undefined) return;
  const label = original.label(entry.path);
  if (now.locked) throw immutable(label);
  if (now.mountId !== root.mountId) {
    throw new UnsupportedError(`${label} is a mount point; it can't be replaced or removed.`, {
      hint: "Unmount it first.",
    });
  }
  const user = process.geteuid?.();
  if (user === 0) return;
  const STICKY = 0o1000;
  const isOwn = now.uid === user;
  if (entry.operation === "metadata" && !isOwn)
    throw notPermitted(`${label} belongs to another user; its mode, owner and times can't be changed.`);
  if ((parent.mode & STICKY) !== 0 && !isOwn && parent.uid !== user)
    throw notPermitted(`${label} belongs to another user, in a folder where only he may change it.`);
  if (now.kind === "directory" && !isOwn && entry.operation !== "metadata") {
    throw notPermitted(`${label} is a folder of another user; it can't be moved.`);
  }
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
