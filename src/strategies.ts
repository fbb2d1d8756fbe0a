/**
 * The built-in strategies as classes: register one under another name or with another context, extend it, or
 * wrap it in a custom strategy.
 */

import type {
  OnePhaseSandboxStrategy,
  SandboxStrategy,
  StrategyContext,
  TwoPhaseSandboxStrategy,
} from "./core/strategy.ts";
import type { Reachable } from "./core/strategy-abilities.ts";
import { SnapshotStrategy as Snapshot } from "./strategies/btrfs-snapshot/snapshot.ts";
import { CopyOnWriteStrategy as CopyOnWrite } from "./strategies/copy-on-write/copy-on-write.ts";
import { FilesystemCopyStrategy as FilesystemCopy } from "./strategies/filesystem-copy/filesystem-copy.ts";
import { GitCheckoutStrategy as GitCheckout } from "./strategies/git-checkout/git-checkout.ts";
import { GitWorktreeStrategy as GitWorktree } from "./strategies/git-worktree/git-worktree.ts";
import { NoneStrategy as None } from "./strategies/none/none.ts";
import { OverlayStrategy as Overlay } from "./strategies/overlay/overlay.ts";
import { SqliteSnapshotStrategy as SqliteSnapshot } from "./strategies/sqlite-snapshot/sqlite-snapshot.ts";
import { TransactionRollbackStrategy as TransactionRollback } from "./strategies/transaction-rollback/transaction-rollback.ts";

/** A strategy whose constructor takes only the context. */
export type StrategyClass<Strategy extends SandboxStrategy> = new (context: StrategyContext) => Strategy;

/** `git_worktree` */
export const GitWorktreeStrategy: StrategyClass<TwoPhaseSandboxStrategy & Reachable> = GitWorktree;
/** `snapshot` of folders on btrfs */
export const SnapshotStrategy: StrategyClass<TwoPhaseSandboxStrategy & Reachable> = Snapshot;
/** `snapshot` of SQLite databases */
export const SqliteSnapshotStrategy: StrategyClass<TwoPhaseSandboxStrategy & Reachable> = SqliteSnapshot;
/** `overlay` */
export const OverlayStrategy: StrategyClass<TwoPhaseSandboxStrategy & Reachable> = Overlay;
/** `overlay` of git checkouts */
export const GitCheckoutStrategy: StrategyClass<TwoPhaseSandboxStrategy & Reachable> = GitCheckout;
/** `copy_on_write` */
export const CopyOnWriteStrategy: StrategyClass<TwoPhaseSandboxStrategy & Reachable> = CopyOnWrite;
/** `filesystem_copy` */
export const FilesystemCopyStrategy: StrategyClass<TwoPhaseSandboxStrategy & Reachable> = FilesystemCopy;
/** `transaction_rollback` */
export const TransactionRollbackStrategy: StrategyClass<TwoPhaseSandboxStrategy> = TransactionRollback;
/** `none`, which works on the original itself */
export const NoneStrategy: StrategyClass<OnePhaseSandboxStrategy> = None;
