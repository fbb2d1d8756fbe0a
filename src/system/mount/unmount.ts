import { readlinkSync } from "node:fs";
import { DrydockError, messageOf } from "../../core/errors/errors.ts";
import { baseName, parentPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { cString, umountBlocking } from "../calls/native.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { mountsBelow } from "./mount-table.ts";

const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;
/**
 * An unmount writes out dirty data, which takes a while on a slow disk; a dead server can block it for ever.
 */
export const UNMOUNT_LIMIT_MS = 10_000;

/**
 * Unmounts the mount at this absolute path, if there is one. "busy" if a process works in it: then it is
 * still mounted. After any other failure or a timeout it is detached, so that nothing is mounted there in any
 * case, and the error says so.
 */
export async function unmount(
  point: Failpoint,
  target: string,
  { limitMs = UNMOUNT_LIMIT_MS }: { readonly limitMs?: number } = {},
): Promise<"done" | "busy"> {
  return await ifMounted(target, async (parent, name) => {
    try {
      passFailpoint(point);
      await within(limitMs, umountChild(parent, name, UMOUNT_NOFOLLOW));
      return "done";
    } catch (thrown) {
      if (failedWith(thrown, "EBUSY")) return "busy";
      const left = await detach(point, parent, name, limitMs);
      throw new UnmountError(target, { cause: thrown, left });
    }
  });
}

/** Ends a mount, given as a name in a folder; "busy" if a process works in it. */
type Ending = (parent: Folder, name: string) => Promise<"done" | "busy">;

/** Ends the mount at this absolute path; "done" if there is none. */
export async function ifMounted(target: string, end: Ending): Promise<"done" | "busy"> {
  using parent = Folder.open(parentPath(target));
  const name = baseName(target);
  return isMountPoint(parent, name) ? await end(parent, name) : "done";
}

/**
 * Detaches a mount at once; the kernel ends it when no process uses it any more. Returns the failure if it is
 * still mounted.
 */
async function detach(point: Failpoint, parent: Folder, name: string, limitMs: number): Promise<unknown> {
  try {
    // The first unmount may have succeeded after all.
    if (!isMountPoint(parent, name)) return undefined;
    passFailpoint(point);
    await within(Math.max(limitMs, 1000), umountChild(parent, name, UMOUNT_NOFOLLOW | MNT_DETACH));
    return undefined;
  } catch (thrown) {
    return isMountPoint(parent, name) ? thrown : undefined;
  }
}

/**
 * The call may start and end long after we stopped waiting, so the folder that it starts from stays open
 * until then.
 */
async function umountChild(parent: Folder, name: string, flags: number): Promise<void> {
  using from = parent.duplicate();
  await umountBlocking(cString(`/proc/self/fd/${from.fd}/${name}`), flags, parent.label(name));
}

/** An unmount failed, for another reason than a process in it. */
export class UnmountError extends DrydockError {
  /** Whether the mount is still there. */
  readonly isStillMounted: boolean;

  constructor(target: string, { cause, left }: { readonly cause: unknown; readonly left: unknown }) {
    const outcome =
      left === undefined
        ? "It was detached: nothing is mounted there any more."
        : `It is still mounted, because it could not be detached either: ${messageOf(left)}`;
    super("UNMOUNT", `${target} could not be unmounted: ${messageOf(cause)}. ${outcome}`, {
      hint: left === undefined ? "Try again." : `Unmount it with 'umount --lazy' and try again.`,
      cause,
    });
    this.isStillMounted = left !== undefined;
  }
}

/** Fails if the work takes longer. The work itself goes on in its thread. */
async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const clock = setTimeout(
    () => reject(new DrydockError("TIMEOUT", `it took longer than ${limitMs} ms`)),
    limitMs,
  );
  // What loses the race must not become an unhandled rejection.
  work.catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(clock);
  }
}

/** Whether a name directly in this folder is a mount point. Links are not followed. */
export function isMountPoint(folder: Folder, name: string): boolean {
  try {
    const facts = folder.facts(name);
    return facts !== undefined && facts.mountId !== folder.ownFacts().mountId;
  } catch (thrown) {
    // A FUSE mount whose process died, or that admits only its owner, does not answer; the table of mounts
    // does.
    if (!failedWith(thrown, "ENOTCONN", "ECONNABORTED", "EACCES", "EIO", "ESTALE")) throw thrown;
    const path = pathFromBytes(readlinkSync(`/proc/self/fd/${folder.fd}`, { encoding: "buffer" }));
    return mountsBelow(path).includes(path === "/" ? `/${name}` : `${path}/${name}`);
  }
}

/**
 * Whether a name in this folder is a mount whose process died. Its facts may still be cached, but it can't be
 * opened.
 */
export function isDeadFuse(parent: Folder, name: string): boolean {
  try {
    parent.openBelowIfThere(name)?.close();
    return false;
  } catch (thrown) {
    // A request that was under way when the process died fails with ECONNABORTED.
    if (failedWith(thrown, "ENOTCONN", "ECONNABORTED", "EIO")) return true;
    if (failedWith(thrown, "EACCES")) return false;
    throw thrown;
  }
}
