import { messageOf, UnsupportedError } from "../../core/errors/errors.ts";
import { diskUse } from "../../engine/tree/disk-use.ts";
import type { RunFolders } from "../../sandboxes/remains/run-folders.ts";
import { UPPER } from "../../sandboxes/scratch/scratch-layers.ts";
import { scratchFolders } from "../../sandboxes/scratch/scratch-place.ts";
import { failedWith } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { OWN_PREFIX } from "../view/new-view.ts";

/**
 * How many bytes on disk the commands of a plan use outside its resources: in scratch layers, and in the
 * temporary folders of strict commands. Yields the sum so far now and then.
 */
export function* scratchUse(folders: RunFolders, planId: string): Generator<number, number, undefined> {
  using plan = folders.of(planId);
  using parts = new DisposableStack();
  let bytes = 0;
  try {
    for (const { folder, paths } of writtenIn(plan, parts))
      bytes += yield* raised(diskUse(folder, paths), bytes);
    return bytes;
  } catch (thrown) {
    if (!failedWith(thrown, "EACCES")) throw thrown;
    throw new UnsupportedError(
      `A limit of scratch can't be kept: ${messageOf(thrown)}. The command was ended.`,
      {
        hint: "Without privilege, a folder that shuts out its own user can't be measured. Run as root, or leave out the limit.",
        cause: thrown,
      },
    );
  }
}

interface Written {
  readonly folder: Folder;
  readonly paths: readonly string[];
}

function writtenIn(plan: Folder, parts: DisposableStack): readonly Written[] {
  const layers = scratchFolders(plan).map((scratch) => parts.use(scratch));
  return [
    ...layers.map((folder) => ({ folder, paths: folder.names().map((name) => `${name}/${UPPER}`) })),
    { folder: plan, paths: plan.names().filter((name) => name.startsWith(OWN_PREFIX)) },
  ];
}

/** The same sums, with what was counted before. */
function* raised(use: Generator<number, number, undefined>, by: number): typeof use {
  for (;;) {
    const { done, value } = use.next();
    if (done === true) return value;
    yield by + value;
  }
}
