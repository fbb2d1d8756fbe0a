import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { MountEntry, MountTable } from "../../system/mount/mount-table.ts";

/** autofs would mount something as soon as a process looks into it; nsfs has no files. */
const NEVER_SHOWN = new Set(["autofs", "nsfs"]);
/** The mounts of the host that a command run by root sees. Mounts of sandboxes are left out. */
export function mountsToShow(table: MountTable): readonly MountEntry[] {
  return table
    .visible()
    .filter(
      ({ point, type, options }) => point !== "/" && !NEVER_SHOWN.has(type) && !isForeignFuse(type, options),
    )
    .filter(({ type, source }) => !(type === "overlay" && source.startsWith("drydock:")))
    .filter(({ point }) => !["/proc", "/dev"].some((own) => isAtOrBelow(point, own)));
}

/**
 * Whether something is mounted below a folder. Without privilege such a folder can't be a layer of an
 * overlay.
 */
export function hasMountsBelow(table: MountTable, folder: string): boolean {
  return table.visible().some(({ point }) => point !== folder && isAtOrBelow(point, folder));
}

/** A FUSE mount without `allow_other` refuses every user but the one that mounted it, root included. */
function isForeignFuse(type: string, options: readonly string[]): boolean {
  if (!type.startsWith("fuse") || options.includes("allow_other")) return false;
  const owner = options.find((option) => option.startsWith("user_id="));
  return owner !== undefined && owner !== `user_id=${process.geteuid?.()}`;
}
