import { baseName, displayPath, parentPath } from "../../../core/paths/byte-path.ts";
import type { Scope } from "../../../engine/workspace/scope.ts";
import type { WorkspacePlace } from "../../../engine/workspace/workspace.ts";
import { failedWith } from "../../../system/calls/errno.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { takesXattrs } from "../../../system/calls/xattrs.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { isOnOverlay } from "../../../system/mount/file-system.ts";
import { mountsBelow } from "../../../system/mount/mount-table.ts";
import { LayerMarks } from "../layer-marks.ts";
import type { OverlayWay } from "../layout.ts";

const PROBE = failpoint("overlay.probe-marks");

/**
 * Why an upper layer in this place does not work for this original, or undefined if it does. Leaves nothing
 * behind.
 */
export function whyNoLayers(place: WorkspacePlace, scope: Scope, way: OverlayWay): string | undefined {
  using folder = Folder.open(parentPath(place.path));
  const why = whyNoUpperLayer(folder, way);
  if (why !== undefined) return why;
  return way === "user-namespace" ? (whyNotMapped(scope) ?? whyNotAlone(scope)) : undefined;
}

/** Why the file system of a folder can't hold an upper layer, or undefined if it can. */
export function whyNoUpperLayer(folder: Folder, way: OverlayWay): string | undefined {
  const path = displayPath(folder.path);
  if (isOnOverlay(folder))
    return `${path} is on an overlay itself, like the root of a container, which can't hold an upper layer`;
  if (takesMarks(folder, way)) return undefined;
  return `the file system of ${path} does not take the attributes that an overlay needs`;
}

/** Marks a nameless file, which is gone when it is closed. */
function takesMarks(folder: Folder, way: OverlayWay): boolean {
  let fd: number | undefined;
  try {
    fd = folder.createNameless(PROBE);
    return takesXattrs(PROBE, fd, new LayerMarks(way).opaque);
  } catch (thrown) {
    // A file system without nameless files (FUSE) can't hold an upper layer either.
    if (failedWith(thrown, "EOPNOTSUPP", "ENOTSUP", "EISDIR")) return false;
    throw thrown;
  } finally {
    if (fd !== undefined) closeFile(fd);
  }
}

/** In a user namespace, the kernel lets no process look under a mount. */
function whyNotAlone({ root }: Scope): string | undefined {
  const [inside] = mountsBelow(root);
  return inside === undefined ? undefined : `${inside} is mounted inside, and only root could leave that out`;
}

/**
 * A user namespace of our own knows only our own user and group; files of others can't be copied up
 * (EOVERFLOW).
 */
function whyNotMapped({ root }: Scope): string | undefined {
  using original = Folder.open(root);
  const { uid, gid } = original.ownFacts();
  if (uid === process.geteuid?.() && gid === process.getegid?.()) return undefined;
  return `${baseName(root)} belongs to another user or group (${uid}:${gid}), which a user namespace does not know`;
}
