import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import { foldersAndSpecials } from "../../system/calls/special-files.ts";
import type { MountTable } from "../../system/mount/mount-table.ts";
import type { OverlayKind } from "../../system/mount/overlay-mount.ts";
import { coverFile, isStrictlyBelow, type ViewMount } from "./view-mount.ts";

/** Every command gets its own. */
const OWN = ["/proc", "/sys", "/dev"];

export interface SocketlessHost {
  /** Where to begin: everything below is shown this way. */
  readonly folders: readonly string[];
  /** Paths that mounts of ours cover, so the host is not visible there. */
  readonly covered: readonly string[];
  /** Paths of the host that are not shown at all. */
  readonly missing: readonly string[];
  readonly kind: OverlayKind;
}

/**
 * Shows the host through read-only overlays. Files and folders look the same, but a socket or fifo in an
 * overlay leads to no process outside. An overlay does not show mounts in its lower layer, so this descends
 * into a folder that contains a mount, and covers the sockets and fifos directly in it one by one.
 */
export function socketlessMounts(
  table: MountTable,
  { folders: beginnings, covered, missing, kind }: SocketlessHost,
): readonly ViewMount[] {
  const isShown = (point: string) => !covered.some((path) => isAtOrBelow(point, path));
  // Without privilege a folder with a mount in it can't be a layer, even if that mount is not shown.
  const points = table.visible().flatMap(({ point }) => (kind === "user" || isShown(point) ? [point] : []));
  const mounts: ViewMount[] = [];
  const open = [...beginnings];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const at = folder;
    if ([...OWN, ...covered].some((path) => isAtOrBelow(at, path))) continue;
    if (at !== "/" && !points.some((point) => isStrictlyBelow(point, at))) {
      mounts.push(
        overlayOf(
          at,
          missing.filter((path) => isStrictlyBelow(path, at)),
          kind,
        ),
      );
      continue;
    }
    const { folders, specials } = foldersAndSpecials(at);
    open.push(...folders);
    mounts.push(...specials.map((special) => coverFile(special)));
  }
  return mounts;
}

function overlayOf(at: string, missing: readonly string[], kind: OverlayKind): ViewMount {
  const without = missing.map((path) => path.slice(at.length + 1));
  const layers = { lower: at, ...(without.length > 0 && { without }), source: "drydock-veil", kind };
  return { at, missing, steps: [{ step: "overlay", at, layers, orHide: true }] };
}
