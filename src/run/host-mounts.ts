import { isAtOrBelow } from "../core/byte-path.ts";
import { isThere } from "../system/existence.ts";
import type { MountEntry, MountTable } from "../system/mount-table.ts";

/** File systems through which only the kernel, or only root, can be reached: a user can't write there whatever the mount allows. */
const OF_THE_KERNEL = new Set([
  ..."proc sysfs cgroup securityfs debugfs tracefs pstore bpf efivarfs configfs fusectl binfmt_misc".split(" "),
  ..."devpts devtmpfs mqueue hugetlbfs rpc_pipefs selinuxfs".split(" "),
]);
/** What is no place to look into: it would be mounted by the look, or has no files. */
const NOT_TO_BE_SHOWN = new Set(["autofs", "nsfs"]);
/** What a mount keeps wherever it is shown; where we are not root it must. */
const KEPT_FLAGS = new Set(["ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime"]);

/** The mounts of the host that a command sees; sandboxes are none of its business. A user without privilege gets all of them at first; these are those to be made read-only. */
export function mountsToShow(table: MountTable, privileged: boolean): readonly MountEntry[] {
  return table
    .visible()
    .filter(({ point, type, options }) => point !== "/" && !NOT_TO_BE_SHOWN.has(type) && !isForeignFuse(type, options))
    .filter(({ type, source }) => !(type === "overlay" && source.startsWith("drydock:")))
    .filter(({ point }) => !["/proc", "/dev"].some((own) => isAtOrBelow(point, own)))
    .filter(({ point, type }) => privileged || (!OF_THE_KERNEL.has(type) && isThere(point)));
}

/** Whether something is mounted in a folder, which then can't be a layer of an overlay for a user without privilege. */
export function hasMountsBelow(table: MountTable, folder: string): boolean {
  return table.visible().some(({ point }) => point !== folder && isAtOrBelow(point, folder));
}

/** The flags that a bind of this path has to repeat, for they are set anew. */
export function flagsAt(table: MountTable, path: string): readonly string[] {
  const flags = (table.at(path)?.flags ?? []).filter((flag) => KEPT_FLAGS.has(flag));
  return flags.some((flag) => flag.endsWith("atime")) ? flags : [...flags, "strictatime"];
}

/** Nobody but who mounted it may look into it, not even root. */
function isForeignFuse(type: string, options: readonly string[]): boolean {
  if (!type.startsWith("fuse") || options.includes("allow_other")) return false;
  const owner = options.find((option) => option.startsWith("user_id="));
  return owner !== undefined && owner !== `user_id=${process.geteuid?.()}`;
}
