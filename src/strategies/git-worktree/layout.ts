/**
 * The workspace of a sandbox (files/workspace.ts) of a git checkout:
 *
 *   worktree/       what programs work on: the files, and `.git`, a whole repository of its own. Programs may
 *                   do with it what they like, so nothing
 *                   in it is ever trusted: git is not run with it by us, its config is not read, its hooks
 *                   are not run.
 *   repository/     our own repository, which nobody else writes to. Our git commands work with this one, on
 *                   the files of the worktree: its config is
 *                   what was the user's when the sandbox was made, its index knows the files as they were
 *                   checked out.
 *   sandbox         JSON, see sandbox-record.ts; written last: a workspace without it is not finished
 *   stale           there after a landing: the worktree is made anew before it is used again
 *   saves/          the repository in which checkpoints store files, and checkpoints/ID; see checkpoints.ts
 *   landings/       the exchange of files (files/landings.ts); what has landed stays as the undo record
 *   git-landings/   what a landing does to the user's repository (landing-record.ts)
 *
 * Both repositories borrow the user's objects (objects/info/alternates); ours borrows those of the worktree's
 * too, where the commits are that programs made. Objects are named by their content, so reading them from
 * there is safe; what is brought to the user is checked again.
 */
export const WORKTREE = "worktree";
export const REPOSITORY = "repository";
export const SANDBOX = "sandbox";
export const STALE = "stale";
export const GIT_LANDINGS = "git-landings";
/** The repository in a worktree. */
export const DOT_GIT = ".git";
