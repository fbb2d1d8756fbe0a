import { randomBytes } from "node:crypto";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { sameIdentity } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { unmountFuse } from "../../system/mount/fuse-overlay.ts";
import { tryLock } from "../../system/state/lock.ts";

/**
 * A folder in the state directory to try something in. It is locked while it is used, and the lock goes with
 * the process: the next one who tries something removes what one that was killed has left.
 */
const POINTS = {
  create: failpoint("overlay.probe-create"),
  remove: failpoint("overlay.probe-remove"),
  unmount: failpoint("overlay.probe-unmount-left"),
};
/** The one name in a probe folder on which something may be mounted. */
export const PROBE_MOUNT_POINT = "merged";
const PREFIX = "overlay-probe-";

/** Calls `use` with a new folder that is gone afterwards. */
export async function withProbeFolder<T>(
  stateDir: string,
  use: (folder: Folder) => T | Promise<T>,
): Promise<T> {
  using state = Folder.open(stateDir);
  for (const name of state.names().filter((found) => found.startsWith(PREFIX)))
    await removeIfLeft(state, name);
  const { name, folder } = create(state);
  try {
    return await use(folder);
  } finally {
    // First removed, then unlocked.
    removeTree(POINTS.remove, state, name);
    folder.close();
  }
}

function create(state: Folder): { readonly name: string; readonly folder: Folder } {
  for (;;) {
    const name = `${PREFIX}${randomBytes(8).toString("hex")}`;
    state.createFolder(POINTS.create, name, 0o700);
    const folder = state.openBelowIfThere(name);
    if (folder === undefined) continue;
    const isLocked = tryLock(folder);
    const found = state.facts(name);
    // Before it is locked it looks as if it were left behind, and may have been taken for that.
    if (isLocked && found !== undefined && sameIdentity(found, folder.ownFacts())) return { name, folder };
    folder.close();
  }
}

/** Somebody may be looking into what is mounted there: then it is left to the next. */
async function removeIfLeft(state: Folder, name: string): Promise<void> {
  using folder = state.openBelowIfThere(name);
  if (folder === undefined || !tryLock(folder)) return;
  if ((await unmountFuse(POINTS.unmount, folder.label(PROBE_MOUNT_POINT))) === "done")
    removeTree(POINTS.remove, state, name);
}
