import { rmSync } from "node:fs";
import { GitCheckoutStrategy } from "../../src/strategies/git-checkout/git-checkout.ts";
import type { StrategyFactory } from "../../src/testing/index.ts";
import { IS_LONG } from "../support/long-form.ts";
import { TestRepository } from "../support/test-repository.ts";
import { describeConformance } from "./describe-conformance.ts";

/** Checkouts, in which everything is committed at the beginning. */
const factory: StrategyFactory = {
  create: (context) => new GitCheckoutStrategy(context),
  makeResource: () => {
    const repository = TestRepository.make();
    let isFilled = false;
    return {
      resource: {
        id: "resource",
        name: "resource",
        type: "git-checkout",
        location: repository.path,
        properties: {},
      },
      originalPath: repository.path,
      without: [".git"],
      settle: () => {
        if (!isFilled) repository.commitAll("settled");
        isFilled = true;
      },
      dispose: () => {
        repository.assertSound();
        rmSync(repository.path, { recursive: true, force: true });
      },
    };
  },
};

// What needs no repository is tried with the overlay of a folder.
describeConformance("overlay of a git checkout", factory, {
  oneIn: 2,
  ...(!IS_LONG && { groups: ["life cycle", "conflicts", "checkpoints", "undo"] }),
});
