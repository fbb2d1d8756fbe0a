import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of our own in a file, mounted until it is disposed of. */
export interface MountedImage extends Disposable {
  readonly path: string;
}

const MAKE: { readonly [kind: string]: readonly string[] } = {
  ext4: ["mkfs.ext4", "-q", "-F", "-m", "0"],
  xfs: ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
  btrfs: ["mkfs.btrfs", "-q", "-f"],
};

/** Makes and mounts one; needs root. xfs needs 300 MiB, btrfs 110. */
export function mountImage(kind: "ext4" | "xfs" | "btrfs", mebibytes: number): MountedImage {
  const folder = mkdtempSync(join(tmpdir(), `drydock-${kind}-`));
  const [image, path] = [join(folder, "image"), join(folder, "mounted")];
  try {
    mkdirSync(path);
    run("truncate", "-s", `${mebibytes}M`, image);
    run(...(MAKE[kind] as [string, ...string[]]), image);
    run("mount", "-o", "loop", image, path);
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true });
    throw thrown;
  }
  return {
    path,
    [Symbol.dispose]: () => {
      // A test that failed may have left something open in it; the mount then goes when that is closed.
      run("umount", "--lazy", path);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function run(...[command, ...args]: readonly [string, ...string[]]): void {
  const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` };
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8", env });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
}
