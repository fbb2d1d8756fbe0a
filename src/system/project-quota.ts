import type { Folder } from "./folder.ts";
import { calls } from "./native.ts";

const FS_IOC_FSGETXATTR = 0x801c581f;
const PROJECT_INHERIT = 0x200;

/**
 * The project that a folder passes on to what is in it (xfs and ext4 quotas), or undefined if it passes none on. The kernel refuses to
 * rename anything of another project into such a folder.
 */
export function inheritedProject(folder: Folder): number | undefined {
  const attributes = Buffer.alloc(28);
  if (calls.ioctlBuffer(folder.fd, FS_IOC_FSGETXATTR, attributes) < 0) return undefined;
  return (attributes.readUInt32LE(0) & PROJECT_INHERIT) === 0 ? undefined : attributes.readUInt32LE(12);
}
