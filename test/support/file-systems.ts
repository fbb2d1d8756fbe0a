import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fastFolder } from "./fast-folder.ts";
import { mountsBelow, unmount } from "./remove-folder.ts";

/**
 * File systems of their own for tests: an image file, mounted by a loop device that goes with the mount. An
 * image is in memory if there is room, so that a test waits for no disk; to the file system in it that is a
 * disk like any other. Each run keeps its mount points and its images in folders whose name holds its process
 * and that process's start time; they go with the test, at the latest with the process, and what a killed run
 * left is swept away by the next one that makes an image.
 */
export const IMAGE_FILE_SYSTEMS = ["ext4", "xfs", "btrfs"] as const;
export type ImageFileSystem = (typeof IMAGE_FILE_SYSTEMS)[number];

export interface Mounted extends Disposable {
  /** Where it is mounted. */
  readonly path: string;
  /** Unmounts and removes it. May be called again. */
  remove(): void;
}

export interface MountedImage extends Mounted {
  readonly kind: ImageFileSystem;
  /** The image itself. */
  readonly image: string;
}

const MARKER = "drydock-test-fs-";
const MEGABYTES: { readonly [kind in ImageFileSystem]: number } = { ext4: 64, xfs: 320, btrfs: 160 };
const MAKE: { readonly [kind in ImageFileSystem]: readonly string[] } = {
  ext4: ["mkfs.ext4", "-q", "-F", "-j", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"],
  xfs: ["mkfs.xfs", "-q", "-f", "-K"],
  btrfs: ["mkfs.btrfs", "-q", "-f", "-K"],
};
const live = new Set<Mounted>();
/** So much is free where images are in memory: some tests have several, of which most is holes. */
const ROOM_BYTES = 4 * 1024 ** 3;
let folders: { readonly mountPoints: string; readonly images: string } | undefined;
let cleansUpAtExit = false;

/** Why images can't be had here, if they can't. */
export function whyNoImages(): string | undefined {
  if (process.geteuid?.() !== 0) return "not root, so nothing can be mounted";
  if (!existsSync("/dev/loop-control")) return "no loop devices here";
  return undefined;
}

/** Makes and mounts an empty file system. */
export function mountImage(
  kind: ImageFileSystem,
  options: { readonly megabytes?: number } = {},
): MountedImage {
  const path = newMountPoint(kind);
  const image = join(runFolders().images, `${basename(path)}.img`);
  const fd = openSync(image, "wx");
  ftruncateSync(fd, (options.megabytes ?? MEGABYTES[kind]) * 1024 * 1024);
  closeSync(fd);
  const [program = "", ...args] = MAKE[kind];
  must(program, [...args, image]);
  must("mount", ["-t", kind, "-o", "loop", image, path]);
  return { kind, image, ...kept(path, image) };
}

/** Mounts an empty file system in memory, with these options. */
export function mountMemory(options = ""): Mounted {
  const path = newMountPoint("tmpfs");
  must("mount", ["-t", "tmpfs", "-o", `mode=755,${options}`, "drydock-test", path]);
  return kept(path, `${path}.nothing`);
}

/** Why a file system can't be had here that is a program's, if it can't. */
export function whyNoFuse(): string | undefined {
  if (process.geteuid?.() !== 0) return "not root, so nothing can be mounted";
  if (!existsSync("/dev/fuse")) return "no FUSE here";
  return undefined;
}

/**
 * Mounts an empty file system that can't exchange two names, as many that are programs (FUSE) can't: another
 * folder, seen through bindfs.
 */
export function mountWithoutExchange(): Mounted {
  const path = newMountPoint("bindfs");
  const behind = mkdtempSync(join(fastFolder(), "drydock-behind-"));
  chmodSync(behind, 0o755);
  must("bindfs", ["-o", "attr_timeout=0,entry_timeout=0", behind, path]);
  return kept(path, behind);
}

function newMountPoint(kind: string): string {
  const path = join(runFolders().mountPoints, `${kind}-${randomBytes(4).toString("hex")}`);
  mkdirSync(path);
  return path;
}

/** A mount that is known from now on, with what is behind it. */
function kept(path: string, behind: string): Mounted {
  const end = (): void => {
    if (live.delete(mounted)) remove(path, behind);
  };
  const mounted: Mounted = { path, remove: end, [Symbol.dispose]: end };
  live.add(mounted);
  return mounted;
}

function remove(path: string, behind: string): void {
  unmount(path);
  rmSync(path, { recursive: true, force: true });
  rmSync(behind, { recursive: true, force: true });
  if (live.size > 0 || folders === undefined) return;
  for (const made of Object.values(folders)) rmSync(made, { recursive: true, force: true });
  folders = undefined;
}

function removeAll(): void {
  for (const mounted of [...live]) mounted.remove();
}

function runFolders(): NonNullable<typeof folders> {
  if (folders !== undefined) return folders;
  for (const root of new Set([tmpdir(), rootOfImages()])) sweepDeadRuns(root);
  const name = `${MARKER}${process.pid}-${startTime(process.pid)}`;
  folders = { mountPoints: join(tmpdir(), name), images: join(rootOfImages(), name) };
  for (const made of Object.values(folders)) mkdirSync(made, { recursive: true, mode: 0o755 });
  // Run folders may come and go many times; one listener does for all.
  if (!cleansUpAtExit) process.once("exit", removeAll);
  cleansUpAtExit = true;
  return folders;
}

function rootOfImages(): string {
  const { bavail, bsize } = statfsSync(fastFolder());
  return bavail * bsize >= ROOM_BYTES ? fastFolder() : tmpdir();
}

/** Unmounts and removes what runs left that are no longer alive. */
function sweepDeadRuns(root: string): void {
  for (const name of readdirSync(root)) {
    const owner = new RegExp(`^${MARKER}(\\d+)-(\\d+)$`).exec(name);
    if (owner === null || startTime(Number(owner[1])) === owner[2]) continue;
    const left = join(root, name);
    for (const mountPoint of mountsBelow(left)) unmount(mountPoint);
    rmSync(left, { recursive: true, force: true });
  }
}

/** When a process started, in the kernel's words; undefined if there is none, a zombie included. */
function startTime(pid: number): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    // No such process.
    return undefined;
  }
}

function must(program: string, args: readonly string[]): void {
  const path = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;
  const result = spawnSync(program, args, { encoding: "utf8", env: { ...process.env, PATH: path } });
  if (result.status !== 0)
    throw new Error(`${program} ${args.join(" ")}: ${result.error?.message ?? result.stderr.trim()}`);
}
