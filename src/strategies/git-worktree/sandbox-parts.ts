import { openOriginal } from "../../engine/sandbox/sandbox-reference.ts";
import { Folder } from "../../system/calls/folder.ts";
import type { Git, GitContext } from "../../system/process/git.ts";
import { type Checkout, contextOfCheckout } from "./checkout/checkout.ts";
import { REPOSITORY, WORKTREE } from "./layout.ts";

/** The open workspace of a sandbox, and the ways to run git on the repositories in it. */
export class SandboxParts {
  readonly git: Git;
  readonly checkout: Checkout;
  readonly workspace: Folder;

  constructor(git: Git, checkout: Checkout, workspace: Folder) {
    this.git = git;
    this.checkout = checkout;
    this.workspace = workspace;
  }

  get worktreePath(): string {
    return this.workspace.label(WORKTREE);
  }

  /** Our repository at work on the files of the worktree. */
  onWorktree(index?: string): GitContext {
    return {
      gitDir: this.workspace.label(REPOSITORY),
      workTree: this.worktreePath,
      ...(index !== undefined && { index }),
    };
  }

  /** Our repository with the user's files. Objects go into our repository, never into the user's. */
  onCheckout(index?: string): GitContext {
    return { ...this.onWorktree(index), workTree: this.checkout.root };
  }

  /** The user's repository. */
  theirs(index?: string): GitContext {
    return contextOfCheckout(this.checkout, index);
  }

  openRepository(): Folder {
    return this.workspace.openChild(REPOSITORY);
  }

  openWorktree(): Folder {
    return this.workspace.openChild(WORKTREE);
  }

  openOriginal(): Folder {
    return openOriginal({ root: this.checkout.root });
  }

  /** The directory with the user's HEAD and index. */
  openGitDir(): Folder {
    return Folder.open(this.checkout.gitDir);
  }

  [Symbol.dispose](): void {
    this.workspace.close();
  }
}
