import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { systemProgram } from "../../src/system/process/programs.ts";

/**
 * The ways in which the suites run over `overlay`, each with the programs to start a process with that can go
 * this way. Each is in a mount namespace of its own: what is mounted there goes with it however it ends, and
 * a namespace that another test makes has no copy of it.
 */
export interface OverlayRun {
  readonly title: string;
  readonly way: OverlayWay;
  readonly by: readonly string[];
  /** Why it can't be had here, if it can't. */
  readonly skip: string | false;
}

/** A user without privilege, whom every machine knows: fusermount3 wants a name. */
const NOBODY = "65534";
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
const ALONE = ["unshare", "--mount", "--propagation", "private"];
/** /dev/fuse is only root's on many machines; this one is everybody's, and seen by nobody else. */
const OPEN_FUSE = `
  mount -t tmpfs -o dev,mode=755 drydock-test /mnt && mknod -m 666 /mnt/fuse c 10 229 &&
  mount --bind /mnt/fuse /dev/fuse && exec "$@"`;

const needsRoot = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";
const needsFuse =
  needsRoot ||
  (systemProgram("fuse-overlayfs") === undefined ? "fuse-overlayfs is not installed" : false) ||
  (existsSync("/dev/fuse") ? false : "no FUSE here");

export const BY_KERNEL: OverlayRun = {
  title: "by the kernel, as root",
  way: "kernel",
  by: ALONE,
  skip: needsRoot,
};

export const BY_FUSE: OverlayRun = {
  title: "by fuse-overlayfs, as root",
  way: "fuse",
  by: ALONE,
  skip: needsFuse,
};

export const IN_USER_NAMESPACE: OverlayRun = {
  title: "by the kernel in a user namespace, without privilege",
  way: "user-namespace",
  by: [...AS_NOBODY, "unshare", "--user", "--map-current-user", "--keep-caps", "--mount"],
  skip: needsRoot,
};

export const BY_FUSE_OF_USER: OverlayRun = {
  title: "by fuse-overlayfs, without privilege",
  way: "fuse",
  by: [...ALONE, "sh", "-c", OPEN_FUSE, "sh", ...AS_NOBODY],
  skip: needsFuse,
};

export const OVERLAY_RUNS: readonly OverlayRun[] = [BY_KERNEL, IN_USER_NAMESPACE, BY_FUSE, BY_FUSE_OF_USER];

/** How to start a program of the tests, by its path in the project, in this way. */
export function overlayCommand(
  run: OverlayRun,
  source: string,
  environment: { readonly [name: string]: string },
) {
  const program = join(import.meta.dirname, "../..", source);
  const [command = "", ...args] = [...run.by, process.execPath, program];
  const { NODE_OPTIONS: _, DRYDOCK_FAILPOINT: __, NODE_TEST_CONTEXT: ___, ...inherited } = process.env;
  return { command, args, options: { cwd: "/", env: { ...inherited, ...environment } } };
}

/** Runs such a program; returns what it said. */
export async function runOverlay(
  run: OverlayRun,
  source: string,
  args: readonly string[],
  environment: { readonly [name: string]: string } = {},
): Promise<string> {
  const { command, args: before, options } = overlayCommand(run, source, environment);
  const { stdout } = await promisify(execFile)(command, [...before, ...args], {
    ...options,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}
