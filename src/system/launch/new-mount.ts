import { calls, check, cString } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";
import {
  CREATE,
  configure,
  MOVE_BOTH_EMPTY,
  MOVE_MOUNT,
  mountOf,
  openContext,
  SET_STRING,
} from "../mount/mount-context.ts";
import { launchCalls, MOUNT_SETATTR, OPEN_TREE } from "./calls.ts";

/** Flags that a mount gets in addition to those of the mount it is a copy of. */
export interface MountFlags {
  readonly readOnly?: boolean;
  readonly noSetid?: boolean;
  readonly noDevices?: boolean;
  readonly noPrograms?: boolean;
}

const AT_EMPTY_PATH = 0x1000;
const AT_RECURSIVE = 0x8000;
const OPEN_TREE_CLONE = 1;

/** A detached copy of a mount, with or without the mounts in it. */
export function copyMount(source: number, label: string, withMounts: boolean): number {
  const flags = OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH | (withMounts ? AT_RECURSIVE : 0);
  return check(launchCalls.openTree(OPEN_TREE, source, cString(""), flags), "mount", label);
}

/** Adds flags; those of the copied mount stay. */
export function setMountFlags(mount: number, flags: MountFlags, label: string, withMounts: boolean): void {
  if (mountAttributes(flags) === 0) return;
  // struct mount_attr: flags to set, flags to clear, propagation, a user namespace.
  const attr = Buffer.alloc(32);
  attr.writeBigUInt64LE(BigInt(mountAttributes(flags)), 0);
  const how = AT_EMPTY_PATH | (withMounts ? AT_RECURSIVE : 0);
  check(launchCalls.mountSetattr(MOUNT_SETATTR, mount, cString(""), how, attr, attr.length), "mount", label);
}

function mountAttributes({ readOnly, noSetid, noDevices, noPrograms }: MountFlags): number {
  return (readOnly ? 1 : 0) | (noSetid ? 2 : 0) | (noDevices ? 4 : 0) | (noPrograms ? 8 : 0);
}

/** A new file system of the kernel, not attached yet. */
export function newMount(
  type: string,
  settings: readonly (readonly [string, string])[],
  flags: MountFlags,
): number {
  const context = check(openContext(type), "mount", type);
  for (const [key, value] of settings) configure({ context, label: type }, SET_STRING, key, value);
  configure({ context, label: type }, CREATE);
  const mount = mountOf(context, mountAttributes(flags), type);
  calls.close(context);
  return mount;
}

/** Attaches a mount to the target of a descriptor. */
export function attachMount(mount: number, target: number, label: string): void {
  const empty = cString("");
  check(calls.moveMount(MOVE_MOUNT, mount, empty, target, empty, MOVE_BOTH_EMPTY), "mount", label);
}
