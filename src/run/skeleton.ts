import { ensureFolder } from "../files/remove-tree.ts";
import { failedWith } from "../system/errno.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { closeFile } from "../system/handles.ts";

const POINTS = { skeleton: failpoint("run.skeleton") };

/** The devices that a command gets. */
export const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"] as const;
const DEVICE_LINKS = {
  fd: "/proc/self/fd",
  stdin: "/proc/self/fd/0",
  stdout: "/proc/self/fd/1",
  stderr: "/proc/self/fd/2",
  ptmx: "pts/ptmx",
} as const;

/** Folders that every view is built with. They are the same for all, and only ever shown read-only. */
export interface Skeleton {
  /** The mount point of the new root; empty. */
  readonly root: string;
  /** What becomes /dev: names to mount devices on. */
  readonly dev: string;
  /** What stands over what is hidden. It holds one empty folder, `root`, on which who takes a view over puts his own root together. */
  readonly cover: string;
}

/** Makes the skeleton in the folder of all runs, if it is not there. */
export function ensureSkeleton(runs: Folder): Skeleton {
  using skeleton = ensureFolder(POINTS.skeleton, runs, "skeleton");
  const result = { root: skeleton.label("root"), dev: skeleton.label("dev"), cover: skeleton.label("cover") };
  // Made last, so it tells that the rest is there.
  if (skeleton.facts("root") !== undefined) return result;
  using dev = ensureFolder(POINTS.skeleton, skeleton, "dev");
  for (const name of DEVICES) unlessThere(() => closeFile(dev.createFile(POINTS.skeleton, name, 0o600)));
  for (const [name, target] of Object.entries(DEVICE_LINKS))
    unlessThere(() => dev.createLink(POINTS.skeleton, name, target));
  for (const name of ["pts", "shm"]) ensureFolder(POINTS.skeleton, dev, name).close();
  skeleton.setMode(POINTS.skeleton, "dev", 0o755);
  using cover = ensureFolder(POINTS.skeleton, skeleton, "cover");
  ensureFolder(POINTS.skeleton, cover, "root").close();
  ensureFolder(POINTS.skeleton, skeleton, "root").close();
  return result;
}

/** Another process may be making the same. */
function unlessThere(make: () => void): void {
  try {
    make();
  } catch (thrown) {
    if (!failedWith(thrown, "EEXIST")) throw thrown;
  }
}
