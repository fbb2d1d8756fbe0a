import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";

/**
 * Removes a folder with all that is in it, after whatever a test left mounted there is unmounted: removing
 * would go on into it.
 */
export function removeFolder(path: string): void {
  for (const point of mountsBelow(path)) unmount(point);
  rmSync(path, { recursive: true, force: true });
}

/** The mount points below a path, the deepest first. */
export function mountsBelow(path: string): string[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((point) => point.startsWith(`${path}/`))
    .reverse();
}

/**
 * Ends the mounts below a path as a restart of the machine does. A namespace that another test made meanwhile
 * keeps its copies of them: those are closed to writing, so that they count as gone.
 */
export function loseMounts(path: string): void {
  for (const point of mountsBelow(path)) {
    spawnSync("mount", ["-o", "remount,ro", point]);
    unmount(point);
  }
}

/** One that somebody still uses goes as soon as they let go of it, its loop device with it. */
export function unmount(path: string): void {
  if (spawnSync("umount", [path]).status !== 0) spawnSync("umount", ["--lazy", path]);
}
