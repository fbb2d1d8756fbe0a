import { constants } from "node:fs";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { calls, check, pathPointer } from "../calls/native.ts";
import { O_CLOEXEC } from "../calls/open-flags.ts";
import type { ViewRoot } from "./view-root.ts";

/**
 * Puts a link into a folder of the new root, replacing the entry there. Does nothing if a command has removed
 * the folder.
 */
export function replaceLink(root: Pick<ViewRoot, "folderIfThere">, at: string, to: string): void {
  const name = baseName(at);
  using parent = root.folderIfThere(parentPath(at));
  if (parent === undefined) return;
  unless("ENOENT", () => check(calls.unlinkat(parent.fd, pathPointer(name), 0), "unlink", at));
  check(calls.symlinkat(pathPointer(to, 1), parent.fd, pathPointer(name)), "symlink", at);
}

/** Makes a mount point in the new root: a folder or an empty file. */
export function makePoint(root: ViewRoot, at: string, isFile: boolean): void {
  const name = baseName(at);
  using parent = root.folderIfThere(parentPath(at));
  if (parent === undefined) return;
  const path = pathPointer(name);
  unless("EEXIST", () => {
    if (!isFile) check(calls.mkdirat(parent.fd, path, 0o755), "mkdir", at);
    else
      calls.close(
        check(
          calls.openat(parent.fd, path, constants.O_CREAT | constants.O_EXCL | O_CLOEXEC, 0o644),
          "create",
          at,
        ),
      );
  });
}

function unless(code: string, action: () => void): void {
  try {
    action();
  } catch (thrown) {
    if (!failedWith(thrown, code)) throw thrown;
  }
}
