import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "./measure.ts";

/**
 * Where the benchmarks work: file systems in images that are mounted through loop devices, because the disk
 * of a machine may have no journal, may not share blocks, and is slowed down by what was deleted on it.
 *
 * The mounts are made in a mount namespace of this process, and the images are unlinked as soon as they are
 * mounted: whatever ends the process, the kernel unmounts and frees everything with it.
 */
const MAKERS = {
  ext4: ["mkfs.ext4", "-q", "-F", "-i", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
  xfs: ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
  btrfs: ["mkfs.btrfs", "-q", "-f"],
} as const;

type FileSystem = keyof typeof MAKERS;

const IMAGE_BYTES = 6 * 1024 ** 3;
const PRIVATE = "DRYDOCK_BENCH_PRIVATE_MOUNTS";

export interface Place {
  readonly path: string;
  /** What it is, for the table. */
  readonly label: string;
}

/** A folder for everything, removed at the end. */
export const home = mkdtempSync(join(tmpdir(), "drydock-bench-"));

const mounted: string[] = [];

// Lazily, because at an interruption the process still has files open there.
process.on("exit", () => {
  for (const path of mounted.reverse()) spawnSync("umount", ["--lazy", path]);
  rmSync(home, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));

/**
 * Whether images can be mounted here; without that, some questions can't be asked and others are asked of a
 * temporary folder.
 */
export const hasImages = process.env[PRIVATE] === "yes";

/**
 * Starts this program again with mounts of its own, if that is allowed; returns only in the program that has
 * to work.
 */
export function withPrivateMounts(): void {
  if (hasImages || process.getuid?.() !== 0 || spawnSync("unshare", ["--mount", "true"]).status !== 0) return;
  rmSync(home, { recursive: true, force: true });
  const { status } = spawnSync(
    "unshare",
    ["--mount", "--propagation", "private", process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    { stdio: "inherit", env: { ...process.env, [PRIVATE]: "yes" } },
  );
  process.exit(status ?? 1);
}

/** Makes and mounts a file system. Undefined if it can't be had. */
export function imageOf(type: FileSystem): Place | undefined {
  if (!hasImages) return undefined;
  const [maker, ...options] = MAKERS[type];
  if (spawnSync(maker, ["-V"]).error !== undefined) return undefined;
  const image = join(home, `${type}.img`);
  const path = join(home, type);
  writeFileSync(image, "");
  truncateSync(image, IMAGE_BYTES);
  runProgram(maker, ...options, image);
  mkdirSync(path);
  runProgram("mount", "-o", "loop", image, path);
  mounted.push(path);
  rmSync(image);
  return { path, label: type };
}

/** A file system in an image, else a temporary folder, and the label says so. */
export function imageOrFolder(type: FileSystem): Place {
  const image = imageOf(type);
  if (image !== undefined) return image;
  const path = join(home, "folder");
  mkdirSync(path);
  return { path, label: "tmp folder, not an image" };
}

/** A file system in memory, for what is not about disks. */
export function memoryOrFolder(): Place {
  if (!hasImages) return imageOrFolder("ext4");
  const path = join(home, "memory");
  mkdirSync(path);
  runProgram("mount", "-t", "tmpfs", "-o", "size=16g,nr_inodes=0", "tmpfs", path);
  mounted.push(path);
  return { path, label: "tmpfs" };
}
