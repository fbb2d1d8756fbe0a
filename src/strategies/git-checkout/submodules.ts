import { GitError, UnsupportedError } from "../../core/errors/errors.ts";
import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { Submodule } from "../../engine/workspace/scope.ts";
import { isThere } from "../../system/data/existence.ts";
import { factsOfPath, realPathOf } from "../../system/data/locations.ts";
import { outsideRepository } from "../../system/git/outside-repository.ts";
import type { Git } from "../../system/process/git.ts";
import { findCheckout } from "../git-worktree/checkout/checkout.ts";
import { splitNul } from "../git-worktree/repository/repository-config.ts";
import { DOT_GIT, pathBelow, type RepositoryFolders } from "./layout.ts";

const LIST = ".gitmodules";
const PATHS = "^submodule\\..*\\.path$";
/** Git's answers for a list without paths, and for one that it can't read. */
const NONE = [1, 3, 128];

/** A folder that is a resource, with a checkout whose repository is in it. */
export interface Surroundings {
  readonly location: string;
  readonly worktree: string;
}

/**
 * The submodules of a checkout, and theirs in turn, whose repositories are in the same resource. Those in
 * which git's own rules can't be kept are not among them: they land file by file.
 */
export async function submodulesOf(git: Git, around: Surroundings): Promise<readonly Submodule[]> {
  const paths = await listedPaths(git, around.worktree);
  const found = await Promise.all(paths.map((path) => submoduleAt(git, around, path)));
  return found.flat();
}

/** The repository of a submodule has no worktrees, or is not one of ours. */
export function placeOfSubmodule({ repository }: Submodule): RepositoryFolders {
  return { own: repository, common: repository };
}

async function submoduleAt(git: Git, { location, worktree: outer }: Surroundings, path: string) {
  const worktree = `${outer}/${path}`;
  // A path of the list may lead out of the checkout, by itself or by a link.
  if (!isAtOrBelow(worktree, outer) || realPathOf(worktree) !== worktree) return [];
  const gitDir = repositoryOf(worktree);
  if (gitDir === undefined || !isAtOrBelow(gitDir, location)) return [];
  if (!(await isByGit(git, worktree, gitDir))) return [];
  const inside = await submodulesOf(git, { location, worktree });
  return [{ repository: pathBelow(location, gitDir), worktree }, ...inside];
}

/** The paths that the list in a checkout names. */
async function listedPaths(git: Git, worktree: string): Promise<readonly string[]> {
  const list = `${worktree}/${LIST}`;
  if (!isThere(list)) return [];
  const args = ["config", "-z", "-f", list, "--get-regexp", PATHS];
  const { stdout } = await git.discover(worktree, args, { answers: NONE });
  return splitNul(stdout).map((entry) => entry.slice(entry.indexOf("\n") + 1));
}

function repositoryOf(worktree: string): string | undefined {
  const inside = `${worktree}/${DOT_GIT}`;
  if (factsOfPath(inside)?.kind === "directory") return inside;
  const outside = outsideRepository(worktree);
  return outside?.gitDir === outside?.commonDir ? outside?.gitDir : undefined;
}

async function isByGit(git: Git, worktree: string, gitDir: string): Promise<boolean> {
  try {
    const { checkout } = await findCheckout(git, worktree, { mayBeSparse: true });
    return checkout.gitDir === gitDir && checkout.commonDir === gitDir;
  } catch (thrown) {
    const isAnswer = thrown instanceof GitError && thrown.exitCode !== undefined;
    if (isAnswer || thrown instanceof UnsupportedError) return false;
    throw thrown;
  }
}
