import { InterruptedError } from "../../core/errors/errors.ts";
import { copyTree } from "../../engine/tree/copy-tree.ts";
import { diskUse } from "../../engine/tree/disk-use.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { runAtOnce, runInTurns } from "../../engine/work/pace.ts";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * Data directories of servers that have ended, in the folder of a clone. A copy gets its name when it is
 * complete: until then it is `next`.
 */
const POINTS = {
  folder: failpoint("clone.copy-data"),
  rename: failpoint("clone.name-data"),
  remove: failpoint("clone.remove-data"),
};
const NEXT = "next";

/**
 * Copies a data directory over one of that name, also again after a crash. Returns how many bytes it takes.
 */
export async function copyData(
  folder: string,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<number> {
  using inside = Folder.open(folder);
  removeTree(POINTS.remove, inside, NEXT);
  inside.createFolder(POINTS.folder, NEXT, 0o700);
  using source = inside.openChild(from);
  using next = inside.openChild(NEXT);
  await runInTurns(copyTree(source, next, { data: "share" }), () => {
    if (signal.aborted) throw new InterruptedError();
  });
  removeTree(POINTS.remove, inside, to);
  inside.move(POINTS.rename, NEXT, inside, to);
  return runAtOnce(diskUse(inside, [to]));
}

/** Removes a data directory, if there is one. */
export function removeData(folder: string, name: string): void {
  using inside = Folder.open(folder);
  removeTree(POINTS.remove, inside, name);
}
