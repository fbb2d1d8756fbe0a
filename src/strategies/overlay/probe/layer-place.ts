import { unlessFailed } from "../../../system/calls/errno.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { factsOfPath, realPathOf } from "../../../system/data/locations.ts";
import { freeRoom } from "../../../system/mount/file-system.ts";
import type { OverlayWay } from "../layout.ts";
import { whyNoUpperLayer } from "./placement-probe.ts";

const OTHERS_CAN_WRITE = 0o022;
const STICKY = 0o1000;

type Environment = { readonly [name: string]: string | undefined };

/**
 * The path of a temporary folder that can hold upper layers and in which no other user can disturb us: the
 * one that the user chose, or else the one with the most room. For a state directory that can't, as on the
 * root of a container.
 */
export function folderForLayers(
  { TMPDIR, XDG_RUNTIME_DIR }: Environment,
  way: OverlayWay,
  isAllowed: (path: string) => boolean = () => true,
): string | undefined {
  const usable = (...paths: readonly (string | undefined)[]) =>
    paths
      .map((path) => (path?.startsWith("/") === true ? realPathOf(path) : undefined))
      .filter((path) => path !== undefined)
      .filter((path) => isAllowed(path) && takesLayers(path, way));
  const others = () => usable(XDG_RUNTIME_DIR, "/var/tmp", "/tmp", "/run", "/dev/shm");
  return usable(TMPDIR)[0] ?? others().toSorted((a, b) => freeRoom(b) - freeRoom(a))[0];
}

function takesLayers(path: string, way: OverlayWay): boolean {
  if (factsOfPath(path)?.kind !== "directory") return false;
  using folder = unlessFailed(["EACCES"], () => Folder.open(path));
  if (folder === undefined || !folder.isWritable()) return false;
  const { uid, mode } = folder.ownFacts();
  const isSafe = (mode & OTHERS_CAN_WRITE) === 0 || (mode & STICKY) !== 0;
  return (uid === 0 || uid === process.geteuid?.()) && isSafe && whyNoUpperLayer(folder, way) === undefined;
}
