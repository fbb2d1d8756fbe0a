import { SandboxStateError, UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { readXattrs, writeXattrs } from "../../system/calls/xattrs.ts";
import { namesIn } from "../../system/data/existence.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { inheritedProject } from "../../system/mount/project-quota.ts";
import { randomBytes } from "../../system/random-bytes.ts";
import { whileLocked } from "../../system/state/lock.ts";
import { removeTree } from "../tree/remove-tree.ts";
import type { Scope } from "./scope.ts";
import { noteWhetherExchangeWorks } from "./weaker-landing.ts";

/**
 * The workspace of a sandbox: a private folder on the mount of the original, because a landing consists of
 * renames, which do not cross mounts. We try the state directory first, then a folder beside the original,
 * then one inside it. The sandbox of an original that may not be changed is in the state directory in any
 * case: nothing of it can land.
 *
 * Every sandbox has a *home* in the state directory, `sandboxes/ID`. If the workspace is elsewhere, the home
 * holds a file `place` with its path, written before the workspace is made, so that the workspace can always
 * be found. While a workspace inside the original is being made or removed, the file `original-time` holds
 * the times that the original's folder gets back afterwards.
 */
export interface WorkspacePlace {
  readonly path: string;
  readonly placement: Placement;
}

export type Placement = "state" | "beside" | "inside";

const POINTS = {
  sandboxes: failpoint("workspace.create-sandboxes"),
  home: failpoint("workspace.create-home"),
  place: failpoint("workspace.record-place"),
  create: failpoint("workspace.create"),
  inherited: failpoint("workspace.drop-inherited"),
  keepTime: failpoint("workspace.keep-time"),
  noteTime: failpoint("workspace.note-time"),
  probe: failpoint("workspace.probe"),
  remove: failpoint("workspace.remove"),
};
const PLACE = "place";
const ORIGINAL_TIME = "original-time";

/** The prefix of every name that we use in a folder that is not ours. */
export const OWN_NAME_PREFIX = ".drydock-";
/**
 * The name of a workspace beside or inside an original: our prefix and the ULID of a plan. Such a name is
 * never part of a user's data.
 */
export const OWN_NAME = /^\.drydock-[0-9A-HJKMNP-TV-Z]{26}-/;

/** The name of a home: the ids of a plan and of one of its resources. */
const HOME_NAME = /^[0-9A-HJKMNP-TV-Z]{26}-[^/]+$/;

/** The folder in the state directory that holds all homes. */
export function openHomes(stateDir: string): Folder {
  using state = Folder.open(stateDir);
  return state.ensureFolder(POINTS.sandboxes, "sandboxes");
}

/** Chooses where the workspace goes. Changes nothing. */
export function choosePlace(stateDir: string, sandboxId: string, scope: Scope): WorkspacePlace {
  using original = Folder.open(scope.root);
  using homes = openHomes(stateDir);
  if (canRenameBetween(homes, original)) return { path: homes.label(sandboxId), placement: "state" };
  const name = `${OWN_NAME_PREFIX}${sandboxId}-${randomBytes(6).toString("hex")}`;
  const besidePath = scope.only === undefined && scope.root !== "/" ? parentPath(scope.root) : undefined;
  if (besidePath !== undefined) {
    using beside = openIfAllowed(besidePath);
    if (beside?.isWritable() === true && canRenameBetween(beside, original))
      return { path: beside.label(name), placement: "beside" };
  }
  if (original.isWritable()) return { path: original.label(name), placement: "inside" };
  // Nothing can land in an original that may not be changed (assertReachable), but it can be looked at.
  return { path: homes.label(sandboxId), placement: "state" };
}

/** Refuses a landing from a workspace on another mount: its original could not be written to. */
export function assertReachable(workspace: Folder, original: Folder): void {
  if (workspace.ownFacts().mountId === original.ownFacts().mountId) return;
  throw new UnsupportedError(
    `Nothing can land in ${original.path}: it could not be written to when the sandbox was made.`,
    { hint: "Make the folder writable, and make a new plan." },
  );
}

/** Makes the folders that `choosePlace` chose, and finds out what a landing there can't promise. */
export function makeWorkspace(stateDir: string, sandboxId: string, place: WorkspacePlace): Folder {
  using homes = openHomes(stateDir);
  using home = homes.ensureFolder(POINTS.home, sandboxId);
  if (place.placement === "state") {
    dropInherited(home);
    noteWhetherExchangeWorks(home);
    return home.duplicate();
  }
  writeWhole(POINTS.place, home, PLACE, Buffer.from(JSON.stringify(place)));
  using parent = Folder.open(parentPath(place.path));
  const make = () => parent.createFolder(POINTS.create, baseName(place.path), 0o700);
  if (place.placement === "inside") keepingTime(homes, home, parent, make);
  else make();
  const workspace = parent.openChild(baseName(place.path));
  dropInherited(workspace);
  noteWhetherExchangeWorks(workspace);
  return workspace;
}

/** Opens the workspace of a sandbox, if there is one. */
export function openWorkspace(path: string): Folder | undefined {
  return openIfAllowed(path);
}

/** The place of the workspace that an earlier, perhaps unfinished, creation of this sandbox made. */
export function findPlace(stateDir: string, sandboxId: string): WorkspacePlace | undefined {
  using homes = openHomes(stateDir);
  using home = homes.openBelowIfThere(sandboxId);
  if (home === undefined) return undefined;
  const elsewhere = readWhole(home, PLACE);
  if (elsewhere !== undefined) return JSON.parse(elsewhere.toString()) as WorkspacePlace;
  return { path: home.path, placement: "state" };
}

/** The path of a sandbox's home. */
export function homePath(stateDir: string, sandboxId: string): string {
  return `${stateDir}/sandboxes/${sandboxId}`;
}

/** The ids of all sandboxes with a home in the state directory, known to the store or not. */
export function homeIds(stateDir: string): readonly string[] {
  return namesIn(`${stateDir}/sandboxes`).filter((name) => HOME_NAME.test(name));
}

/** Removes the workspace and the home. */
export function removeWorkspace(stateDir: string, sandboxId: string, place: WorkspacePlace): void {
  using homes = openHomes(stateDir);
  if (place.placement !== "state") {
    using home = homes.openBelowIfThere(sandboxId);
    using parent = openIfAllowed(parentPath(place.path));
    if (parent !== undefined) {
      const remove = () => removeTree(POINTS.remove, parent, baseName(place.path));
      if (place.placement === "inside") keepingTime(homes, home, parent, remove);
      else remove();
    }
  }
  removeTree(POINTS.remove, homes, sandboxId);
}

/**
 * Keeps the times of the original's folder while we add or remove a name in it.
 * 1. Note the times in the home, unless a note from a crashed attempt is there: then that one counts.
 * 2. Act.
 * 3. Set the times.
 * 4. Remove the note.
 *
 * Only one process does this at a time; another would note our momentary time as the original's.
 */
function keepingTime(homes: Folder, home: Folder | undefined, parent: Folder, action: () => void): void {
  whileLocked(homes, () => {
    const noted = home === undefined ? undefined : readWhole(home, ORIGINAL_TIME);
    const { mtime, atime } =
      noted === undefined ? parent.ownFacts() : (JSON.parse(noted.toString()) as NotedTime);
    if (noted === undefined && home !== undefined)
      writeWhole(POINTS.noteTime, home, ORIGINAL_TIME, Buffer.from(JSON.stringify({ mtime, atime })));
    action();
    parent.setTimes(POINTS.keepTime, ROOT_PATH, { mtime, atime });
    if (home !== undefined) home.removeFile(POINTS.noteTime, ORIGINAL_TIME);
  });
}

type NotedTime = Pick<Facts, "mtime" | "atime">;

/**
 * Whether a rename from one folder into the other works. We try a rename that can't succeed, because its
 * target is the folder itself; the kernel checks for one mount before it refuses. Subvolumes of btrfs share a
 * mount and still refuse renames; they differ in device. A folder with a quota project refuses entries of
 * another project.
 */
function canRenameBetween(from: Folder, to: Folder): boolean {
  if (from.ownFacts().device !== to.ownFacts().device) return false;
  if (inheritedProject(from) !== inheritedProject(to)) return false;
  try {
    from.move(POINTS.probe, "no-such-name", to, ROOT_PATH);
    return true;
  } catch (thrown) {
    if (failedWith(thrown, "EEXIST", "EBUSY", "ENOENT")) return true;
    if (failedWith(thrown, "EXDEV")) return false;
    throw thrown;
  }
}

/** Every copy would inherit a default ACL of the folder around the workspace. */
function dropInherited(workspace: Folder): void {
  const inherited = readXattrs(workspace, ROOT_PATH);
  const own = Object.fromEntries(
    Object.entries(inherited).filter(([key]) => !key.startsWith("system.posix_acl_")),
  );
  if (Object.keys(own).length === Object.keys(inherited).length) return;
  writeXattrs(POINTS.inherited, workspace, ROOT_PATH, own, inherited);
  workspace.setMode(POINTS.inherited, ROOT_PATH, 0o700);
}

function openIfAllowed(path: string): Folder | undefined {
  return unlessFailed(["ENOENT", "EACCES", "ENOTDIR", "ELOOP"], () => Folder.open(path));
}

/**
 * Removes the remains of an earlier, interrupted creation of this sandbox. Refuses if the sandbox is
 * complete, or if it has a landing.
 */
export function removeUnfinished(
  stateDir: string,
  sandboxId: string,
  isInUse: (workspace: Folder) => boolean,
): void {
  const earlier = findPlace(stateDir, sandboxId);
  if (earlier === undefined) return;
  using workspace = openWorkspace(earlier.path);
  if (workspace !== undefined && isInUse(workspace)) {
    throw new SandboxStateError(`Sandbox ${sandboxId} has been created already.`, {
      from: "CREATED",
      to: "PENDING",
      hint: "Use the sandbox that is there, or clean it up first.",
    });
  }
  removeWorkspace(stateDir, sandboxId, earlier);
}

/** Removes everything in a workspace but these names. */
export function removeAllBut(point: Failpoint, workspace: Folder, kept: readonly string[]): void {
  for (const name of workspace.names()) if (!kept.includes(name)) removeTree(point, workspace, name);
}
