import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import type { BuiltInStrategyName } from "../core/strategy-names.ts";

type BuiltInStrategy = new (context: StrategyContext) => SandboxStrategy;

/**
 * The one list of what is built in: for each name of core/strategy-names.ts how its implementation is loaded. A command loads the one that its plan
 * has, and not the drivers, parsers and programs of the others.
 */
export const BUILT_IN_STRATEGIES: { readonly [name in BuiltInStrategyName]: () => Promise<BuiltInStrategy> } = {
  git_worktree: async () => (await import("./git-worktree/git-worktree.ts")).GitWorktreeStrategy,
  snapshot: async () => (await import("./snapshot/snapshot-by-kind.ts")).SnapshotByKind,
  overlay: async () => (await import("./overlay/overlay.ts")).OverlayStrategy,
  copy_on_write: async () => (await import("./copy-on-write/copy-on-write.ts")).CopyOnWriteStrategy,
  filesystem_copy: async () => (await import("./filesystem-copy/filesystem-copy.ts")).FilesystemCopyStrategy,
  transaction_rollback: async () =>
    (await import("./transaction-rollback/transaction-rollback.ts")).TransactionRollbackStrategy,
  none: async () => (await import("./none/none.ts")).NoneStrategy,
};
