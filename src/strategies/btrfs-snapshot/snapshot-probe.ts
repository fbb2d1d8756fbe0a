import { displayPath } from "../../core/paths/byte-path.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { isOnBtrfs, isSubvolume, nestedSubvolumes } from "../../system/btrfs/btrfs.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { MountTable, mountsBelow } from "../../system/mount/mount-table.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";

/** Without this option, only root can delete a subvolume that is not empty. */
const DELETING_ALLOWED = "user_subvol_rm_allowed";

/** Why a snapshot of this folder can't be a sandbox, or undefined if it can. Changes nothing. */
export function whyNoSnapshot(folder: Folder): string | undefined {
  const path = displayPath(folder.path);
  if (!isOnBtrfs(folder)) return `${path} is not on btrfs`;
  if (!isSubvolume(folder))
    return `${path} is a folder inside a subvolume, and only whole subvolumes have snapshots`;
  return whyNotAllowed(folder, path) ?? whyNotWhole(folder, path);
}

/**
 * A user can make a snapshot of their own subvolume; but they must also be able to delete it, with other
 * users' files.
 */
function whyNotAllowed(folder: Folder, path: string): string | undefined {
  if (mayMountOnMachine()) return undefined;
  const { uid } = folder.ownFacts();
  if (uid !== process.geteuid?.()) return `the subvolume ${path} belongs to another user`;
  if (MountTable.read().at(folder.path)?.options.includes(DELETING_ALLOWED) === true) return undefined;
  return `${path} is not mounted with ${DELETING_ALLOWED}, so only root could delete a snapshot of it`;
}

/** A nested subvolume or mount is not part of a snapshot and would look empty. */
function whyNotWhole(folder: Folder, path: string): string | undefined {
  const [nested] = nestedSubvolumes(folder).filter((inner) => !isOurs(inner));
  if (nested !== undefined)
    return `${displayPath(nested)} in ${path} is a subvolume of its own, which a snapshot does not hold`;
  const mounted = mountsBelow(folder.path).find((point) => !isOurs(point.slice(folder.path.length + 1)));
  return mounted === undefined
    ? undefined
    : `${displayPath(mounted)} is mounted inside, which a snapshot does not hold`;
}

/** Whether the path lies in the workspace of a plan. */
function isOurs(path: string): boolean {
  return path.split("/").some((name) => OWN_NAME.test(name));
}
