import { failedWith } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { cloneData, writeBytes } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { Scope } from "./scope.ts";
import { choosePlace } from "./workspace.ts";

const POINT = failpoint("reflink-probe.try");

/**
 * Whether files in the future workspace can share blocks. Tries it with two nameless files, which leave
 * nothing behind.
 */
export function canShareBlocks(stateDir: string, scope: Scope): boolean {
  const { path } = choosePlace(stateDir, "reflink-probe", scope);
  using folder = Folder.open(path.slice(0, path.lastIndexOf("/")) || "/");
  const opened: number[] = [];
  try {
    const [from, to] = [folder.createNameless(POINT), folder.createNameless(POINT)];
    opened.push(from, to);
    writeBytes(POINT, from, Buffer.alloc(4096, 1), folder.path);
    return cloneData(POINT, from, to, folder.path);
  } catch (thrown) {
    if (failedWith(thrown, "EOPNOTSUPP", "ENOTSUP", "EISDIR", "ENOENT")) return false;
    throw thrown;
  } finally {
    for (const fd of opened) closeFile(fd);
  }
}
