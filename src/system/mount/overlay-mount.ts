import { constants } from "node:fs";
import { SystemCallError } from "../../core/errors/errors.ts";
import { baseName } from "../../core/paths/byte-path.ts";
import { failedWith, systemCallError } from "../calls/errno.ts";
import { factsOfOpen } from "../calls/facts.ts";
import { Folder } from "../calls/folder.ts";
import { AT_FDCWD, calls, check, cString, lastErrno, pathPointer } from "../calls/native.ts";
import { O_CLOEXEC, O_PATH } from "../calls/open-flags.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import {
  CREATE,
  configure,
  explained,
  FSCONFIG,
  MOVE_BOTH_EMPTY,
  MOVE_MOUNT,
  mountOf,
  openContext,
  SET_FD,
  SET_FLAG,
  SET_STRING,
} from "./mount-context.ts";

/**
 * The kernel's overlay, mounted as root in the present namespace.
 *
 * The layers are given as descriptors (fsconfig, Linux 6.13), so names may have any bytes and length, and no
 * process can swap them meanwhile. On kernels that take none, mount(2) gets the same descriptors as paths in
 * /proc/self/fd. The mount is made detached and then moved to its mount point, so an earlier failure leaves
 * nothing. Then it is made private: mounts inside it stay inside.
 *
 * The options:
 * - `volatile` avoids a flush for each file that is copied up; the landing of the upper layer flushes.
 * - `redirect_dir=on`, as root: a program can rename a folder of the lower layer, by a mark that no program
 *   can make. User namespaces do not allow it: `nofollow` there, because with `off` many kernels still follow
 *   existing redirects.
 * - `metacopy=off`: the upper layer has the content of what it covers.
 * - `index=on` keeps hard links together, and refuses a second mount with the same upper layer. User
 *   namespaces do not allow it.
 * - `userxattr`, in user namespaces: the marks are attributes that need no privilege.
 */
export interface OverlayLayers extends ReadOnlyLayers {
  readonly upper: Folder;
  readonly work: Folder;
}

/** Without an upper layer the overlay is read-only. */
export interface ReadOnlyLayers {
  readonly lower: Folder;
  /** A layer over the lower one that hides some of its names. */
  readonly hidden?: Folder;
}

const MOUNT_ATTR_NODEV = 4;
const MS_RDONLY = 1;
const MS_NODEV = 4;
const MS_REMOUNT = 32;
const MS_PRIVATE = 1 << 18;
const MNT_DETACH = 2;

/**
 * - `indexed`: as root; hard links stay linked.
 * - `plain`: as root, while an overlay on the same layers lives on in some namespace: then the mount goes
 *   without the index.
 * - `user`: with marks in attributes that need no privilege.
 */
export type OverlayKind = "indexed" | "plain" | "user";

/** The options with a value, and those without. */
function settingsFor(kind: OverlayKind, layers: AnyLayers) {
  const settings = [
    ["redirect_dir", kind === "user" || !("upper" in layers) ? "nofollow" : "on"],
    ["metacopy", "off"],
    ["index", kind === "indexed" ? "on" : "off"],
  ] as const;
  return {
    settings,
    flags: [...("upper" in layers ? ["volatile"] : []), ...(kind === "user" ? ["userxattr"] : [])],
  };
}

type AnyLayers = OverlayLayers | ReadOnlyLayers;

function labelOf(layers: AnyLayers): string {
  return "upper" in layers ? layers.upper.path : layers.lower.path;
}

/** The layers with the options that take them, the topmost lower layer first. */
function namedLayers(layers: AnyLayers): readonly (readonly [string, Folder])[] {
  const lower = [...(layers.hidden === undefined ? [] : [layers.hidden]), layers.lower];
  const upper =
    "upper" in layers
      ? ([["upperdir", layers.upper] as const, ["workdir", layers.work] as const] as const)
      : [];
  return [...lower.map((folder) => ["lowerdir+", folder] as const), ...upper];
}

/** Whether this process may mount in its own namespace: as root, or with root's rights in that namespace. */
export function mayMount(): boolean {
  const context = openContext("overlay");
  if (context >= 0) calls.close(context);
  return context >= 0;
}

/** Mounts an overlay on a folder. mountinfo shows it under the name `source`. */
export function mountOverlay(
  point: Failpoint,
  layers: OverlayLayers,
  target: Folder,
  { source, kind = "indexed" }: { readonly source: string; readonly kind?: OverlayKind },
): void {
  removeVolatileMark(point, layers.work);
  passFailpoint(point);
  try {
    mountOnce(layers, target, source, kind);
  } catch (thrown) {
    if (kind !== "indexed" || !failedWith(thrown, "EBUSY")) throw thrown;
    mountOnce(layers, target, source, "plain");
  }
}

function mountOnce(layers: OverlayLayers, target: Folder, source: string, kind: OverlayKind): void {
  if (mountByDescriptors(layers, target, source, kind) === "not-offered")
    mountByPaths(layers, target, source, kind);
}

/** Mounts an overlay in a namespace where every mount is private. */
export function mountPrivately(layers: AnyLayers, target: Folder, source: string, kind: OverlayKind): void {
  const mount = detachedOverlay(layers, source, kind);
  if (mount === undefined) {
    mountByCall(layers, target, source, kind);
    return;
  }
  try {
    moveTo(mount, target);
  } finally {
    calls.close(mount);
  }
}

function moveTo(mount: number, target: Folder): void {
  const empty = cString("");
  check(calls.moveMount(MOVE_MOUNT, mount, empty, target.fd, empty, MOVE_BOTH_EMPTY), "mount", target.path);
}

/**
 * Makes an overlay read-only, or writable again, in every namespace that has a copy of the mount; unmounting
 * ours would not end those copies. "busy" if a process has a file open for writing.
 */
export function setReadOnly(point: Failpoint, target: Folder, isReadOnly: boolean): "done" | "busy" {
  passFailpoint(point);
  const flags = MS_REMOUNT | MS_NODEV | (isReadOnly ? MS_RDONLY : 0);
  if (calls.mount(null, cString(descriptorPath(target.fd)), null, flags, null) === 0) return "done";
  const error = systemCallError(lastErrno(), "remount", target.path);
  if (failedWith(error, "EBUSY")) return "busy";
  throw error;
}

/** Mounts with layers as descriptors; "not-offered" if this kernel takes none. */
export function mountByDescriptors(
  layers: OverlayLayers,
  target: Folder,
  source: string,
  kind: OverlayKind = "indexed",
): "done" | "not-offered" {
  const mount = detachedOverlay(layers, source, kind);
  if (mount === undefined) return "not-offered";
  try {
    moveTo(mount, target);
    makePrivate(mount, target.path);
    return "done";
  } finally {
    calls.close(mount);
  }
}

/**
 * A detached overlay, which ends when its descriptor is closed; undefined if the kernel takes no descriptors
 * of layers.
 */
function detachedOverlay(layers: AnyLayers, source: string, kind: OverlayKind): number | undefined {
  const context = createdOverlay(layers, source, kind);
  if (context === undefined) return undefined;
  try {
    return mountOf(context, MOUNT_ATTR_NODEV, labelOf(layers));
  } finally {
    calls.close(context);
  }
}

/**
 * The context of an overlay that is configured but has no mount yet. Closing it is enough to end it, and
 * takes no time.
 */
export function createdOverlay(
  layers: AnyLayers,
  source: string,
  kind: OverlayKind = "indexed",
): number | undefined {
  const path = labelOf(layers);
  const context = openContext("overlay");
  if (context < 0) {
    const error = systemCallError(lastErrno(), "mount", path);
    if (isNotOffered(error)) return undefined;
    throw error;
  }
  let isCreated = false;
  try {
    if (!takesLayers(context, layers)) return undefined;
    const { settings, flags } = settingsFor(kind, layers);
    for (const [key, value] of [["source", source] as const, ...settings])
      configure({ context, label: path }, SET_STRING, key, value);
    for (const flag of flags) configure({ context, label: path }, SET_FLAG, flag);
    configure({ context, label: path }, CREATE);
    isCreated = true;
    return context;
  } finally {
    if (!isCreated) calls.close(context);
  }
}

/** A detached file system in memory, which ends when it is closed; undefined if the kernel can't make one. */
export function detachedMemory(): Folder | undefined {
  const label = "a file system in memory";
  const context = openContext("tmpfs");
  if (context < 0) return undefined;
  try {
    configure({ context, label }, SET_STRING, "mode", "0700");
    configure({ context, label }, CREATE);
    return new Folder(mountOf(context, MOUNT_ATTR_NODEV, label), label);
  } finally {
    calls.close(context);
  }
}

function takesLayers(context: number, layers: AnyLayers): boolean {
  for (const [key, { fd, path }] of namedLayers(layers)) {
    if (calls.fsconfig(FSCONFIG, context, SET_FD, cString(key), null, fd) === 0) continue;
    const error = explained(context, path);
    if (isNotOffered(error)) return false;
    throw error;
  }
  return true;
}

/** Mounts by mount(2), which every kernel has. */
export function mountByPaths(
  layers: OverlayLayers,
  target: Folder,
  source: string,
  kind: OverlayKind = "indexed",
): void {
  mountByCall(layers, target, source, kind);
  const mount = openMountOn(target);
  try {
    makePrivate(mount, target.path);
  } finally {
    calls.close(mount);
  }
}

function mountByCall(layers: AnyLayers, target: Folder, source: string, kind: OverlayKind): void {
  const named = namedLayers(layers).map(([key, { fd }]) => [key, descriptorPath(fd)] as const);
  const lower = named.flatMap(([key, path]) => (key === "lowerdir+" ? [path] : [])).join(":");
  const upper = named.flatMap(([key, path]) => (key === "lowerdir+" ? [] : [`${key}=${path}`]));
  const { settings, flags } = settingsFor(kind, layers);
  const words = [
    `lowerdir=${lower}`,
    ...upper,
    ...settings.map(([key, value]) => `${key}=${value}`),
    ...flags,
  ];
  const mounted = calls.mount(
    cString(source),
    cString(descriptorPath(target.fd)),
    cString("overlay"),
    MS_NODEV,
    cString(words.join(",")),
  );
  check(mounted, "mount", target.path);
}

/** Opens the mount by its path: the descriptor of the target refers to the folder beneath the mount. */
function openMountOn(target: Folder): number {
  const path = `${descriptorPath(target.fd)}/../${baseName(target.path)}`;
  const mount = check(
    calls.openat(AT_FDCWD, pathPointer(path), O_PATH | constants.O_DIRECTORY | O_CLOEXEC, 0),
    "open",
    target.path,
  );
  if (factsOfOpen(mount, target.path).mountId !== target.ownFacts().mountId) return mount;
  calls.close(mount);
  throw new SystemCallError("ENOENT", "mount", target.path, "the folder was moved while it was mounted on");
}

/** A mount below a shared one is shared too. If it can't be made private, it is unmounted. */
function makePrivate(mount: number, label: string): void {
  const path = cString(descriptorPath(mount));
  if (calls.mount(null, path, null, MS_PRIVATE, null) === 0) return;
  const error = systemCallError(lastErrno(), "mount", label);
  calls.umount2(path, MNT_DETACH);
  throw error;
}

const WANTS_STRINGS = /Bad value for|Unknown parameter|Legacy: Parameter type/;

/**
 * Whether the kernel does not offer layers as descriptors:
 * - ENOSYS: no such call.
 * - EOPNOTSUPP: before Linux 6.5 an overlay takes only strings.
 * - EPERM: a filter of system calls, or no right to mount at all, which mount(2) then reports.
 * - ENAMETOOLONG: the path of a layer, which the kernel notes for display, exceeds 4,096 bytes.
 * - EINVAL: this kernel wants a string, or does not know the option; or it has another reason.
 */
function isNotOffered(error: SystemCallError): boolean {
  if (failedWith(error, "ENOSYS", "EOPNOTSUPP", "EPERM", "ENAMETOOLONG")) return true;
  return failedWith(error, "EINVAL") && WANTS_STRINGS.test(error.message);
}

function descriptorPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

const VOLATILE_MARK = ["work", "incompat", "volatile"] as const;

/**
 * Removes `work/incompat/volatile/dirty` in the work folder, the mark by which a volatile mount tells the
 * next one that the layers may be incomplete. The caller knows whether they are (after a reboot they may be).
 * Only root can enter these folders.
 */
function removeVolatileMark(point: Failpoint, work: Folder): void {
  const opened: Folder[] = [];
  try {
    let at = work;
    for (const name of VOLATILE_MARK) {
      const facts = at.facts(name);
      if (facts === undefined) break;
      if ((facts.mode & 0o700) !== 0o700) at.setMode(point, name, 0o700);
      at = at.openChild(name);
      opened.push(at);
    }
    const [inner, incompat, mark] = opened;
    for (const name of mark?.names() ?? []) mark?.removeFile(point, name);
    if (mark !== undefined) incompat?.removeFolder(point, "volatile");
    if (incompat !== undefined) inner?.removeFolder(point, "incompat");
  } finally {
    for (const folder of opened) folder.close();
  }
}
