import { setTimeout as delay } from "node:timers/promises";
import { BusyError, messageOf, SystemCallError } from "../../core/errors/errors.ts";
import { failedWith } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { writeXattrs } from "../../system/calls/xattrs.ts";
import { failpoint } from "../../system/failpoints.ts";
import { mountFuseOverlay, unmountFuse, whyNoFuse } from "../../system/mount/fuse-overlay.ts";
import { whyNoUserNamespaceOverlay } from "../../system/mount/namespaces.ts";
import {
  createdOverlay,
  detachedMemory,
  mountByPaths,
  type OverlayLayers,
} from "../../system/mount/overlay-mount.ts";
import { unmount } from "../../system/mount/unmount.ts";
import { OVERLAY_WAYS, type OverlayWay } from "./layout.ts";
import { PROBE_MOUNT_POINT, withProbeFolder } from "./probe/probe-folder.ts";
import { isKnownToWork, rememberWay } from "./probe/remembered-ways.ts";

/** Whether a way works on this machine for this user, or why not. */
export type WayResult =
  | { readonly way: OverlayWay; readonly works: true }
  | { readonly way: OverlayWay; readonly works: false; readonly reason: string };

const POINTS = {
  layers: failpoint("overlay.probe-layers"),
  mount: failpoint("overlay.probe-mount"),
  unmount: failpoint("overlay.probe-unmount"),
};
const SOURCE = "drydock-probe";

const known = new Map<OverlayWay, Promise<WayResult>>();

/** Tries a way to mount in the state directory, once per process. Leaves nothing behind. */
export function probeWay(way: OverlayWay, stateDir: string): Promise<WayResult> {
  const before = known.get(way);
  if (before !== undefined) return before;
  const result = tryWay(way, stateDir);
  known.set(way, result);
  // A failure of the attempt itself, like a full disk, says nothing about the way.
  result.catch(() => known.delete(way));
  return result;
}

/** The first allowed way that works or is known to, or why none does. Does not try the later ones. */
export async function firstWorkingWay(
  stateDir: string,
  allowed: readonly OverlayWay[] = OVERLAY_WAYS,
): Promise<{ readonly way: OverlayWay } | { readonly way: undefined; readonly reason: string }> {
  const reasons: string[] = [];
  for (const way of allowed) {
    const isNew = !known.has(way) && isRemembered(way);
    if (isNew && isKnownToWork(way, stateDir)) return { way };
    const result = await probeWay(way, stateDir);
    if (result.works && isNew) rememberWay(way, stateDir);
    if (result.works) return { way };
    reasons.push(`${way}: ${result.reason}`);
  }
  return { way: undefined, reason: reasons.join("; ") || "no way to mount is allowed" };
}

/** The way by FUSE depends on programs that may come and go. */
function isRemembered(way: OverlayWay): boolean {
  return way !== "fuse";
}

async function tryWay(way: OverlayWay, stateDir: string): Promise<WayResult> {
  const atOnce = whyNotAtOnce(way);
  if (atOnce === undefined && way === "kernel" && worksInMemory()) return { way, works: true };
  const reason = atOnce ?? (await withProbeFolder(stateDir, way, (folder) => whyNotIn(way, folder)));
  return reason === undefined ? { way, works: true } : { way, works: false, reason };
}

/** The reasons that are known without trying. */
function whyNotAtOnce(way: OverlayWay): string | undefined {
  if (way === "kernel" && process.geteuid?.() !== 0) return "mounting needs root";
  return way === "fuse" ? whyNoFuse() : undefined;
}

/**
 * Tries the kernel's way with layers in memory, which takes one millisecond instead of ten on a disk, and
 * leaves nothing even if the process is killed. Kernels before 6.15 refuse such layers, so a failure here
 * says nothing.
 */
function worksInMemory(): boolean {
  try {
    using memory = detachedMemory();
    if (memory === undefined) return false;
    makeLayers(memory);
    if (!takesTrustedMarks(memory)) return false;
    using lower = memory.openChild("lower");
    using upper = memory.openChild("upper");
    using work = memory.openChild("work");
    const mount = createdOverlay({ lower, upper, work }, SOURCE);
    if (mount !== undefined) closeFile(mount);
    return mount !== undefined;
  } catch (thrown) {
    if (thrown instanceof SystemCallError) return false;
    throw thrown;
  }
}

async function whyNotIn(way: OverlayWay, folder: Folder): Promise<string | undefined> {
  makeLayers(folder);
  if (way === "user-namespace") return await whyNoUserNamespaceOverlay(folder);
  using merged = folder.openChild(PROBE_MOUNT_POINT);
  const whyNot = way === "kernel" ? whyNotByKernel : whyNotByFuse;
  using lower = folder.openChild("lower");
  using upper = folder.openChild("upper");
  using work = folder.openChild("work");
  return await whyNot({ lower, upper, work }, merged, folder);
}

function makeLayers(folder: Folder): void {
  for (const name of ["lower", "upper", "work", PROBE_MOUNT_POINT])
    folder.createFolder(POINTS.layers, name, 0o700);
  using lower = folder.openChild("lower");
  closeFile(lower.createFile(POINTS.layers, "lowered", 0o600));
}

/** Root in a user namespace may mount, but may not write the marks that the kernel's way needs. */
function takesTrustedMarks(folder: Folder): boolean {
  const mark = { "trusted.overlay.probe": Buffer.from("y").toString("base64") };
  return writeXattrs(POINTS.layers, folder, "upper", mark, {}).length === 0;
}

async function whyNotByKernel(
  layers: OverlayLayers,
  merged: Folder,
  folder: Folder,
): Promise<string | undefined> {
  try {
    if (!takesTrustedMarks(folder)) return "trusted attributes can't be set here";
    const mount = createdOverlay(layers, SOURCE);
    if (mount !== undefined) closeFile(mount);
    else {
      mountByPaths(layers, merged, SOURCE);
      await untilFree(() => unmount(POINTS.unmount, merged.path));
    }
    return undefined;
  } catch (thrown) {
    if (failedWith(thrown, "ENODEV")) return "this kernel has no overlay file system";
    if (failedWith(thrown, "EPERM", "EACCES")) return "this process may not mount (it lacks CAP_SYS_ADMIN)";
    return messageOf(thrown);
  }
}

async function whyNotByFuse(layers: OverlayLayers, merged: Folder): Promise<string | undefined> {
  try {
    await mountFuseOverlay(POINTS.mount, layers, merged);
    await untilFree(() => unmountFuse(POINTS.unmount, merged.path));
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** Waits for processes that look into every new mount for a moment, such as indexers and file managers. */
async function untilFree(end: () => Promise<"done" | "busy">): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    if ((await end()) === "done") return;
    await delay(20);
  }
  throw new BusyError("another process keeps the trial mount busy", {
    holder: "another process",
  });
}
