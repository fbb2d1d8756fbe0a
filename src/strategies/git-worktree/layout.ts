/**
 * The workspace (engine/workspace/workspace.ts) of a sandbox of a git checkout:
 *
 *   worktree/       the files that programs work on, and `.git`, a whole repository of their own. Programs
 *                   may do anything to it, so we trust nothing in it: we don't run git on it, read its config
 *                   or run its hooks.
 *   repository/     our own repository, which only we write. Our git commands use it on the files of the
 *                   worktree. Its config is the user's from the creation of the sandbox; its index knows the
 *                   files as they were checked out.
 *   sandbox         JSON, see sandbox-record.ts. Written last: a workspace without it is unfinished.
 *   stale           exists after a landing: the worktree is rebuilt before its next use
 *   saves/          the repository in which checkpoints store files, see checkpoints.ts; with checkpoints/ID
 *   landings/       the exchange of files (engine/landing/landings.ts); a finished one is the undo record
 *   git-landings/   what a landing does to the user's repository (landing-record.ts)
 *
 * Both repositories borrow the user's objects (objects/info/alternates). Ours also borrows those of the
 * worktree, which has the commits that programs made. Objects are named by their content, so reading them
 * from there is safe; git checks again those that land.
 */
export const WORKTREE = "worktree";
export const REPOSITORY = "repository";
export const SANDBOX = "sandbox";
export const STALE = "stale";
export const GIT_LANDINGS = "git-landings";
/** The repository in a worktree. */
export const DOT_GIT = ".git";
