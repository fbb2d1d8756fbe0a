import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { MountEntry, MountTable } from "../../system/mount/mount-table.ts";

/** What is no place to look into: it would be mounted by the look, or has no files. */
const NOT_TO_BE_SHOWN = new Set(["autofs", "nsfs"]);
/** The mounts of the host that a command of root's sees; sandboxes are none of its business. */
export function mountsToShow(table: MountTable): readonly MountEntry[] {
  return table
    .visible()
    .filter(
      ({ point, type, options }) =>
        point !== "/" && !NOT_TO_BE_SHOWN.has(type) && !isForeignFuse(type, options),
    )
    .filter(({ type, source }) => !(type === "overlay" && source.startsWith("drydock:")))
    .filter(({ point }) => !["/proc", "/dev"].some((own) => isAtOrBelow(point, own)));
}

/**
 * Whether something is mounted in a folder, which then can't be a layer of an overlay for a user without
 * privilege.
 */
export function hasMountsBelow(table: MountTable, folder: string): boolean {
  return table.visible().some(({ point }) => point !== folder && isAtOrBelow(point, folder));
}

/** Nobody but who mounted it may look into it, not even root. */
function isForeignFuse(type: string, options: readonly string[]): boolean {
  if (!type.startsWith("fuse") || options.includes("allow_other")) return false;
  const owner = options.find((option) => option.startsWith("user_id="));
  return owner !== undefined && owner !== `user_id=${process.geteuid?.()}`;
}
