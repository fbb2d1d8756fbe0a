import { closeSync, constants, openSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { DrydockError, messageOf, UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { Folder } from "../calls/folder.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { milliseconds } from "../milliseconds.ts";
import { commandOf, linksOf, processIds, readLinkIfThere } from "../process/processes.ts";
import { systemProgram } from "../process/programs.ts";
import { runProcess } from "../process/run-process.ts";
import { liveMountsOfDevice } from "./live-mounts.ts";
import type { OverlayLayers } from "./overlay-mount.ts";
import { ifMounted, isDeadFuse, isMountPoint, UNMOUNT_LIMIT_MS, unmount } from "./unmount.ts";

/**
 * An overlay by fuse-overlayfs, a process of the user that lives as long as its mount.
 *
 * It gets its folders as inherited descriptors 3 to 6, named in /proc/self/fd, because neither its options
 * nor our way of starting programs can carry every name. It keeps them open, so the process of a mount is
 * found by its open mount point. It ignores fsname, so none is given.
 */
const PROGRAM = "fuse-overlayfs";
const MOUNT_LIMIT_MS = 10_000;
const COPIES_LAST_MS = 1000;
const LOOK_AGAIN_MS = 5;

/** Mounts an overlay on a folder. */
export async function mountFuseOverlay(
  point: Failpoint,
  { lower, upper, work }: OverlayLayers,
  target: Folder,
  { limitMs = MOUNT_LIMIT_MS }: { readonly limitMs?: number } = {},
): Promise<void> {
  const program = systemProgram(PROGRAM);
  if (program === undefined)
    throw new UnsupportedError(`${PROGRAM} is not installed.`, { hint: "Install it." });
  assertTakenAsUpper(upper);
  passFailpoint(point);
  const layers = "lowerdir=/proc/self/fd/3,upperdir=/proc/self/fd/4,workdir=/proc/self/fd/5";
  // As root it checks the mount point again after mounting; through "." that would enter the mount before it
  // is served. Otherwise fusermount3 refuses a path whose last name is not a folder.
  const path = isRoot() ? "/proc/self/fd/6" : "/proc/self/fd/6/.";
  const descriptors = [lower.fd, upper.fd, work.fd, target.fd];
  const why = await run(program, ["-o", `${layers},volatile`, path], descriptors, limitMs);
  using parent = Folder.open(parentPath(target.path));
  const isMounted = isMountPoint(parent, baseName(target.path));
  if (why === undefined && isMounted) return;
  if (isMounted) await unmountFuse(point, target.path);
  const reason = why ?? "it said that it had mounted, but nothing is mounted";
  throw new DrydockError(
    "FUSE_OVERLAY",
    `${PROGRAM} could not mount on ${displayPath(target.path)}: ${reason}`,
  );
}

/** fuse-overlayfs splits the real path of the upper folder at colons. */
function assertTakenAsUpper(upper: Folder): void {
  const path = pathFromBytes(readlinkSync(`/proc/self/fd/${upper.fd}`, { encoding: "buffer" }));
  if (!path.includes(":")) return;
  throw new UnsupportedError(`${PROGRAM} can't use ${displayPath(path)}: there is a colon in the path.`, {
    hint: "Keep the state directory, or the original, where no folder has a colon in its name.",
  });
}

/**
 * Unmounts a mount of fuse-overlayfs at this absolute path, if there is one, and waits until its process is
 * gone. "busy" if a process works in it or sees it in another namespace: then it is still mounted. After any
 * other failure nothing is mounted there.
 */
export async function unmountFuse(
  point: Failpoint,
  target: string,
  { limitMs = UNMOUNT_LIMIT_MS }: { readonly limitMs?: number } = {},
): Promise<"done" | "busy"> {
  return await ifMounted(target, async (parent, name) => {
    const servers = serversOf(target);
    if ((await answers(parent, name, limitMs)) && (await staysSeenElsewhere(parent, name))) return "busy";
    const outcome = isRoot()
      ? await unmount(point, target, { limitMs })
      : await unmountAsUser(point, parent, name, limitMs);
    if (outcome === "done") await waitUntilGone(servers, target, limitMs);
    return outcome;
  });
}

/**
 * Whether a mount answers in time. A process that is stopped, or waits for something that never comes, would
 * keep us waiting for ever, so a process that can be ended asks it.
 */
async function answers(parent: Folder, name: string, limitMs: number): Promise<boolean> {
  const stat = systemProgram("stat");
  if (stat === undefined) return true;
  const why = await run(stat, ["-f", `/proc/self/fd/3/${name}`], [parent.fd], limitMs);
  return why === undefined || !why.includes("took longer than");
}

/** A namespace that any process makes has a copy of every mount, mostly only for a moment. */
async function staysSeenElsewhere(parent: Folder, name: string): Promise<boolean> {
  const latest = milliseconds() + COPIES_LAST_MS;
  while (isSeenElsewhere(parent, name)) {
    if (milliseconds() > latest) return true;
    await delay(LOOK_AGAIN_MS);
  }
  return false;
}

/** Whether the file system is mounted in another namespace too: there it would live on, with its process. */
function isSeenElsewhere(parent: Folder, name: string): boolean {
  // A mount whose process died does not answer, and serves no process anywhere.
  if (isDeadFuse(parent, name)) return false;
  const facts = parent.facts(name);
  return facts !== undefined && liveMountsOfDevice(facts.device).some(({ isOurs }) => !isOurs);
}

async function unmountAsUser(
  point: Failpoint,
  parent: Folder,
  name: string,
  limitMs: number,
): Promise<"done" | "busy"> {
  const program = systemProgram("fusermount3") ?? systemProgram("fusermount");
  if (program === undefined)
    throw new UnsupportedError("fusermount3 is not installed.", { hint: "Install fuse3." });
  const path = `/proc/self/fd/3/${name}`;
  passFailpoint(point);
  const why = await run(program, ["-u", path], [parent.fd], limitMs);
  if (why === undefined) return "done";
  if (/busy/i.test(why)) return "busy";
  const detached = await run(program, ["-u", "-z", path], [parent.fd], limitMs);
  const outcome = isMountPoint(parent, name)
    ? `It is still mounted: ${detached ?? "nothing was said about why"}`
    : "It was detached: nothing is mounted there any more.";
  throw new DrydockError("UNMOUNT", `${parent.label(name)} could not be unmounted: ${why}. ${outcome}`, {
    hint: "Try again.",
  });
}

/** The processes that serve the mount at this path: they have the folder beneath it open. */
function serversOf(target: string): number[] {
  return processIds()
    .filter((pid) => commandOf(pid) === PROGRAM.slice(0, 15))
    .filter((pid) =>
      linksOf(pid).some(
        (link) => link.startsWith("fd/") && readLinkIfThere(`/proc/${pid}/${link}`) === target,
      ),
    )
    .map(Number);
}

/** A zombie has nothing open any more. */
async function waitUntilGone(pids: readonly number[], target: string, limitMs: number): Promise<void> {
  const end = milliseconds() + limitMs;
  for (let left = pids; left.length > 0; left = left.filter((pid) => serversOf(target).includes(pid))) {
    if (milliseconds() > end) {
      throw new DrydockError(
        "UNMOUNT",
        `${target} is unmounted, but ${PROGRAM} (pid ${left.join(", ")}) has not ended.`,
        {
          hint: "End that process and try again.",
        },
      );
    }
    await delay(LOOK_AGAIN_MS);
  }
}

/** Runs a program with these descriptors as its 3 and up. Returns why it failed, if it did. */
async function run(
  file: string,
  args: readonly string[],
  descriptors: readonly number[],
  limitMs: number,
): Promise<string | undefined> {
  const { code, stderr, tookTooLong } = await runProcess({ file, args }, { descriptors, limitMs });
  if (tookTooLong) return `it took longer than ${limitMs} ms`;
  return code === 0 ? undefined : wordsOf(stderr);
}

function wordsOf(stderr: string): string {
  const lines = stderr
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("unknown argument ignored"));
  return lines.join("; ") || "no reason given";
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/** Why this user can't use FUSE, as far as that is known without trying. */
export function whyNoFuse(): string | undefined {
  if (systemProgram(PROGRAM) === undefined) return `${PROGRAM} is not installed`;
  try {
    closeSync(openSync("/dev/fuse", constants.O_RDWR));
    return undefined;
  } catch (thrown) {
    return `/dev/fuse can't be opened (${messageOf(thrown)})`;
  }
}
