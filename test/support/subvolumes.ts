import { spawnSync } from "node:child_process";
import { basename, dirname } from "node:path";
import { removeTree } from "../../src/engine/tree/remove-tree.ts";
import { Folder } from "../../src/system/calls/folder.ts";
import { failpoint } from "../../src/system/failpoints.ts";

/** Makes an empty subvolume of btrfs. */
export function makeSubvolume(path: string): void {
  const { status, stderr, error } = spawnSync("btrfs", ["subvolume", "create", path], { encoding: "utf8" });
  if (status !== 0) throw new Error(`no subvolume ${path}: ${error?.message ?? stderr}`);
}

/** Paths of all subvolumes below the root of a mounted btrfs, as `btrfs` tells them. */
export function subvolumesOf(mountPoint: string): string[] {
  const { stdout } = spawnSync("btrfs", ["subvolume", "list", mountPoint], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => / path (.*)$/.exec(line)?.[1] ?? []);
}

/** Removes a folder with all that is in it, read-only subvolumes included, which Node can't. */
export function removeWithSubvolumes(path: string): void {
  using parent = Folder.open(dirname(path));
  removeTree(failpoint("test.fixture"), parent, basename(path));
}
