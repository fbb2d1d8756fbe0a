import type { Folder } from "../calls/folder.ts";
import { closeFile } from "../calls/handles.ts";
import { calls } from "../calls/native.ts";

const FS_IOC_FSGETXATTR = 0x801c581f;
const PROJECT_INHERIT = 0x200;

/**
 * The project id that new entries of a folder inherit (xfs and ext4 quotas); undefined if none. The kernel
 * refuses to rename entries of another project into such a folder.
 */
export function inheritedProject(folder: Folder): number | undefined {
  const project = projectOfOpen(folder.fd);
  return project?.isPassedOn === true ? project.id : undefined;
}

/** The project id of a file or folder directly in this one; undefined if the file system has none. */
export function projectOf(parent: Folder, name: string): number | undefined {
  const fd = parent.openFile(name);
  try {
    return projectOfOpen(fd)?.id;
  } finally {
    closeFile(fd);
  }
}

function projectOfOpen(fd: number): { readonly id: number; readonly isPassedOn: boolean } | undefined {
  const attributes = Buffer.alloc(28);
  if (calls.ioctlBuffer(fd, FS_IOC_FSGETXATTR, attributes) < 0) return undefined;
  return {
    id: attributes.readUInt32LE(12),
    isPassedOn: (attributes.readUInt32LE(0) & PROJECT_INHERIT) !== 0,
  };
}
