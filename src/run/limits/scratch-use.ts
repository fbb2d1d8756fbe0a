import { messageOf, UnsupportedError } from "../../core/errors/errors.ts";
import { diskUse } from "../../engine/tree/disk-use.ts";
import type { RunFolders } from "../../sandboxes/remains/run-folders.ts";
import { failedWith } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { OWN_PREFIX } from "../view/new-view.ts";

/**
 * How many bytes on disk the commands of a plan use outside its resources: in scratch layers, and in the
 * temporary folders of strict commands. Yields the sum so far now and then.
 */
export function* scratchUse(folders: RunFolders, planId: string): Generator<number, number, undefined> {
  using plan = folders.of(planId);
  try {
    return yield* diskUse(plan, writtenIn(plan));
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

function writtenIn(plan: Folder): readonly string[] {
  using scratch = plan.openBelowIfThere("scratch");
  const layers = scratch?.names().map((name) => `scratch/${name}/upper`) ?? [];
  return [...layers, ...plan.names().filter((name) => name.startsWith(OWN_PREFIX))];
}
