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
 */
export const GIT_BASE = "git-base";
export const BASE_INDEX = "base-index";
export const DOT_GIT = ".git";

/** The files of a repository that say where branches are, and that git changes only under its locks. */
export const PINNED_FILES = ["HEAD", "index", "packed-refs"];
export const PINNED_FOLDERS = ["refs", "logs"];

/** What git leaves behind for itself: messages, the results of a fetch, locks of a killed process. */
const NOT_LANDING = [
  "COMMIT_EDITMSG",
  "MERGE_MSG",
  "MERGE_RR",
  "SQUASH_MSG",
  "TAG_EDITMSG",
  "AUTO_MERGE",
  "ORIG_HEAD",
  "FETCH_HEAD",
  "gc.log",
  "gc.pid",
  "index.lock",
  "HEAD.lock",
  "packed-refs.lock",
  "config.lock",
  "shallow.lock",
];

/** The paths of a checkout that do not land as files: git's own rules apply, or they are git's alone. */
export const NOT_AS_FILES: readonly string[] = [
  ...[...PINNED_FILES, ...PINNED_FOLDERS, "objects", ...NOT_LANDING].map((name) => `${DOT_GIT}/${name}`),
];
