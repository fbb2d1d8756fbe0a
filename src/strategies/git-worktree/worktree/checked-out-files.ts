import { baseName } from "../../../core/paths/byte-path.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Git } from "../../../system/process/git.ts";
import { nulTerminated } from "../repository/store-tree.ts";

const CHECK_OUT = failpoint("git.check-out");

/**
 * Checks files of an index out into an empty folder: line ends and filters applied, with links and modes. Git
 * gets the folder as its worktree, so it takes attributes from the index and not from files that may be
 * older.
 */
export async function checkOutInto(
  git: Git,
  { gitDir, index }: { readonly gitDir: string; readonly index: string },
  paths: readonly string[],
  folder: Folder,
): Promise<void> {
  if (paths.length === 0) return;
  const context = { gitDir, index, workTree: folder.path };
  // Changed attributes apply to the other files already, so they come first.
  const isAttributes = (path: string) => baseName(path) === ".gitattributes";
  const ordered = [...paths.filter(isAttributes), ...paths.filter((path) => !isAttributes(path))];
  await git.change(CHECK_OUT, context, ["checkout-index", "-f", "-z", "--stdin"], {
    input: nulTerminated(ordered),
  });
}
