import { rmSync } from "node:fs";
import { GitWorktreeStrategy } from "../../src/strategies/git-worktree/git-worktree.ts";
import type { StrategyFactory } from "../../src/testing/index.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { IS_LONG } from "../support/long-form.ts";
import { TestRepository } from "../support/test-repository.ts";
import { describeConformance } from "./describe-conformance.ts";

/**
 * Checkouts. What others do to one is committed, or is left uncommitted and the sandbox begins with the files
 * as they are.
 */
function checkoutFactory(from: "head" | "checkout"): StrategyFactory {
  return {
    create: (context) => new GitWorktreeStrategy(context),
    makeResource: () => {
      const repository = TestRepository.make(fastFolder());
      let isFilled = false;
      return {
        resource: {
          id: "resource",
          name: "resource",
          type: "git-checkout",
          location: repository.path,
          properties: { from },
        },
        originalPath: repository.path,
        without: [".git"],
        settle: () => {
          if (from === "head" || !isFilled) repository.commitAll("settled");
          isFilled = true;
        },
        dispose: () => {
          repository.assertSound();
          rmSync(repository.path, { recursive: true, force: true });
        },
      };
    },
  };
}

const excludes = ["diff", "exactness", "parts"];
// Every case makes a dozen repositories; test/power-cut has disks.
const scratchDir = fastFolder;
describeConformance("git_worktree", checkoutFactory("head"), { excludes, scratchDir, oneIn: 3 });
describeConformance("git_worktree from the checkout as it is", checkoutFactory("checkout"), {
  excludes,
  scratchDir,
  oneIn: 3,
  // In a short run what may depend on how a sandbox begins.
  ...(!IS_LONG && { groups: ["isolation", "conflicts"] }),
});
