import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import type { BuiltInStrategyName } from "../core/strategy-names.ts";
import { CopyOnWriteStrategy } from "./copy-on-write/copy-on-write.ts";
import { FilesystemCopyStrategy } from "./filesystem-copy/filesystem-copy.ts";
import { GitWorktreeStrategy } from "./git-worktree/git-worktree.ts";
import { NoneStrategy } from "./none/none.ts";
import { OverlayStrategy } from "./overlay/overlay.ts";
import { SnapshotByKind } from "./snapshot/snapshot-by-kind.ts";
import { TransactionRollbackStrategy } from "./transaction-rollback/transaction-rollback.ts";

/** The one list of what is built in: for each name of core/strategy-names.ts its implementation. */
export const BUILT_IN_STRATEGIES: {
  readonly [name in BuiltInStrategyName]: new (
    context: StrategyContext,
  ) => SandboxStrategy;
} = {
  git_worktree: GitWorktreeStrategy,
  snapshot: SnapshotByKind,
  overlay: OverlayStrategy,
  copy_on_write: CopyOnWriteStrategy,
  filesystem_copy: FilesystemCopyStrategy,
  transaction_rollback: TransactionRollbackStrategy,
  none: NoneStrategy,
};
