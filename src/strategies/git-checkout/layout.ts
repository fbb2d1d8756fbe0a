/**
 * The workspace (engine/workspace/workspace.ts) of a sandbox of a git checkout at its own path. It is that of
 * an overlay (overlay/layered-tree.ts) over the whole checkout, with its repository:
 *
 *   upper/.git/      what the sandbox has of the repository. From the beginning that is a copy of everything
 *                    which says where branches are: HEAD, the index, `packed-refs`, `refs` and `logs`, which
 *                    hide those of the original. So a commit that the user makes meanwhile does not move a
 *                    branch under the feet of a program. The objects are those of both layers. Programs may
 *                    do anything to it, so we trust nothing in it: we don't run git on it.
 *   repository/      our own repository, which only we write. It borrows the objects of both layers.
 *   git-base         JSON, `RepositoryBase` (pinned-repository.ts)
 *   base-index       the index when the sandbox began
 *   landings/        the exchange of files (engine/landing/landings.ts)
 *   git-landings/    what a landing does to the user's repository (git-worktree/landing/landing-record.ts)
 *   submodules/N/    the same four of the repository of a submodule; what the sandbox has of that repository
 *                    is in the upper layer too, at its path
 *
 * If the repository is not in the checkout, as with a linked worktree or a submodule alone, it is a resource
 * of its own in the plan, whose sandbox has the same files, with `upper/` in the place of `upper/.git/`. The
 * sandbox of the checkout is then that of a folder.
 */

import { isAtOrBelow, joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { PlainRecord } from "../../core/resource/resource.ts";

export const GIT_BASE = "git-base";
export const BASE_INDEX = "base-index";
export const SUBMODULES = "submodules";
export const DOT_GIT = ".git";

/** The type of a repository that is a resource because a checkout of the plan belongs to it. */
export const REPOSITORY_TYPE = "git-repository";

/**
 * The files of a repository that say where branches are, and that git changes only under its locks: those of
 * the checkout, and those that all worktrees share.
 */
export const PINNED = {
  own: ["HEAD", "index", "logs"],
  common: ["packed-refs", "refs", "logs", "shallow"],
} as const;

/** What git leaves behind for itself: messages, the results of a fetch, lists, locks of a killed process. */
const NOT_LANDING = [
  "COMMIT_EDITMSG",
  "MERGE_MSG",
  "MERGE_RR",
  "SQUASH_MSG",
  "TAG_EDITMSG",
  "AUTO_MERGE",
  "ORIG_HEAD",
  "FETCH_HEAD",
  "info/refs",
  "gc.log",
  "gc.pid",
  "index.lock",
  "HEAD.lock",
  "packed-refs.lock",
  "config.lock",
  "shallow.lock",
];

/** Where a repository is in a resource. */
export interface RepositoryFolders {
  /** The folder with HEAD and the index of the checkout. */
  readonly own: string;
  /** The folder with objects and refs. The same, unless the checkout is a linked worktree. */
  readonly common: string;
}

/** The place, from the path of the folder with HEAD and the index. */
export function repositoryFolders(own: string): RepositoryFolders {
  return { own, common: own.replace(/(?:^|\/)worktrees\/[^/]+$/, "") || ROOT_PATH };
}

/** The folder in the workspace for the repository of a submodule. */
export function submoduleFolder(at: number): string {
  return `${SUBMODULES}/${at}`;
}

/** The path of a ref, of HEAD or of the index in the resource. */
export function pathIn({ own, common }: RepositoryFolders, name: string): string {
  return joinPath(name.startsWith("refs/") ? common : own, name);
}

/** The paths that do not land as files: git's own rules apply, or they are git's alone. */
export function notAsFiles({ own, common }: RepositoryFolders): readonly string[] {
  const below = (folder: string, names: readonly string[]) => names.map((name) => joinPath(folder, name));
  const paths = [
    ...below(common, [...PINNED.common, "objects", ...NOT_LANDING]),
    ...below(own, [...PINNED.own, ...NOT_LANDING]),
  ];
  return [...new Set(paths)];
}

/** The checkout to which a repository of the plan belongs, from its resource or its sandbox. */
export interface OwnerOfRepository {
  readonly worktree: string;
  readonly gitDir: string;
}

export function ownerOf({ worktree, gitDir }: PlainRecord): OwnerOfRepository | undefined {
  return typeof worktree === "string" && typeof gitDir === "string" ? { worktree, gitDir } : undefined;
}

/** The path of a folder at or below another one. */
export function pathBelow(folder: string, path: string): string {
  if (path === folder || !isAtOrBelow(path, folder)) return ROOT_PATH;
  return path.slice(folder === "/" ? 1 : folder.length + 1);
}
