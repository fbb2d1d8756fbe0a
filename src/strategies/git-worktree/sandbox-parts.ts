import { openOriginal } from "../../engine/sandbox/sandbox-reference.ts";
import { Folder } from "../../system/calls/folder.ts";
import type { Git, GitContext } from "../../system/process/git.ts";
import { type Checkout, contextOfCheckout } from "./checkout/checkout.ts";
import { REPOSITORY, WORKTREE } from "./layout.ts";

/** A sandbox's workspace, open, with what is needed to run git on what is in it. */
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

  /** Our repository at work on the user's files: what it stores does not get into the user's repository. */
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

  /** Where the user's HEAD and index are. */
  openGitDir(): Folder {
    return Folder.open(this.checkout.gitDir);
  }

  [Symbol.dispose](): void {
    this.workspace.close();
  }
}
