import { dirname, join } from "node:path";
import { SystemCallError } from "../core/errors/errors.ts";
import { realPathOf } from "../system/data/locations.ts";

/** The file name of a config. */
export const CONFIG_FILE_NAME = "drydock.yaml";

/** The path of the nearest config in this folder or above, trusted or not; undefined if there is none. */
export function nearestConfig(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, CONFIG_FILE_NAME);
    if (exists(path)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * A link that leads nowhere, or to a place that this user may not look at, is not a config: a file in a
 * foreign folder must not stop a command.
 */
function exists(path: string): boolean {
  try {
    return realPathOf(path) !== undefined;
  } catch (thrown) {
    if (thrown instanceof SystemCallError && ["EACCES", "ELOOP", "ENAMETOOLONG"].includes(thrown.code))
      return false;
    throw thrown;
  }
}
