import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { sameIdentity } from "../../../system/calls/facts.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { isOnOverlay } from "../../../system/mount/file-system.ts";
import { unmountFuse } from "../../../system/mount/fuse-overlay.ts";
import { randomBytes } from "../../../system/random-bytes.ts";
import { tryLock } from "../../../system/state/lock.ts";
import type { OverlayWay } from "../layout.ts";
import { folderForLayers } from "./layer-place.ts";

/**
 * A temporary folder for probes: in the state directory, or in a temporary folder if that can't hold layers.
 * The process holds a lock on it while it uses the folder; the next probe removes the folder of a killed
 * process.
 */
const POINTS = {
  create: failpoint("overlay.probe-create"),
  remove: failpoint("overlay.probe-remove"),
  unmount: failpoint("overlay.probe-unmount-left"),
};
/** The one name in a probe folder on which something may be mounted. */
export const PROBE_MOUNT_POINT = "merged";
const PREFIX = ".drydock-overlay-probe-";

/** Calls `use` with a new folder that is gone afterwards. */
export async function withProbeFolder<T>(
  stateDir: string,
  way: OverlayWay,
  use: (folder: Folder) => T | Promise<T>,
): Promise<T> {
  using parent = openParent(stateDir, way);
  for (const name of parent.names().filter((found) => found.startsWith(PREFIX)))
    if (parent.facts(name)?.uid === process.geteuid?.()) await removeIfLeft(parent, name);
  const { name, folder } = create(parent);
  try {
    return await use(folder);
  } finally {
    // Remove it before the lock goes.
    removeTree(POINTS.remove, parent, name);
    folder.close();
  }
}

function openParent(stateDir: string, way: OverlayWay): Folder {
  const state = Folder.open(stateDir);
  if (way === "fuse" || !isOnOverlay(state)) return state;
  const elsewhere = folderForLayers({}, way);
  if (elsewhere === undefined) return state;
  state.close();
  return Folder.open(elsewhere);
}

function create(state: Folder): { readonly name: string; readonly folder: Folder } {
  for (;;) {
    const name = `${PREFIX}${randomBytes(8).toString("hex")}`;
    state.createFolder(POINTS.create, name, 0o700);
    const folder = state.openBelowIfThere(name);
    if (folder === undefined) continue;
    const isLocked = tryLock(folder);
    const found = state.facts(name);
    // Before the lock, another process may take the folder for an abandoned one and remove it.
    if (isLocked && found !== undefined && sameIdentity(found, folder.ownFacts())) return { name, folder };
    folder.close();
  }
}

/** Removes an abandoned folder. If its mount is busy, leaves it to the next probe. */
async function removeIfLeft(state: Folder, name: string): Promise<void> {
  using folder = state.openBelowIfThere(name);
  if (folder === undefined || !tryLock(folder)) return;
  if ((await unmountFuse(POINTS.unmount, folder.label(PROBE_MOUNT_POINT))) === "done")
    removeTree(POINTS.remove, state, name);
}
