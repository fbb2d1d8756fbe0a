import type { SandboxRef } from "../core/sandbox.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import {
  BUILT_IN_STRATEGY_NAMES,
  type BuiltInStrategyName,
  builtInStrength,
} from "../core/strategy-names.ts";
import type { SandboxStrategyRegistry } from "./registry.ts";

type StrategyClass = new (context: StrategyContext) => SandboxStrategy;
type LoadClass = () => Promise<StrategyClass>;

/**
 * The only list of built-in strategies: the implementation for each name of core/strategy-names.ts, and the
 * one for a type of resource that has its own. Strategies are half of the program, so each is loaded when it
 * is needed.
 */
const BUILT_IN_STRATEGIES: {
  readonly [name in BuiltInStrategyName]: { readonly default: LoadClass; readonly [type: string]: LoadClass };
} = {
  git_worktree: {
    default: async () => (await import("./git-worktree/git-worktree.ts")).GitWorktreeStrategy,
  },
  snapshot: {
    default: async () => (await import("./btrfs-snapshot/snapshot.ts")).SnapshotStrategy,
    "sqlite-database": async () =>
      (await import("./sqlite-snapshot/sqlite-snapshot.ts")).SqliteSnapshotStrategy,
    "postgres-database": async () =>
      (await import("./postgres-snapshot/postgres-snapshot.ts")).PostgresSnapshotStrategy,
    "mysql-database": async () =>
      (await import("./mariadb-snapshot/mariadb-snapshot.ts")).MariadbSnapshotStrategy,
  },
  overlay: {
    default: async () => (await import("./overlay/overlay.ts")).OverlayStrategy,
    "git-checkout": async () => (await import("./git-checkout/git-checkout.ts")).GitCheckoutStrategy,
    "git-repository": async () => (await import("./git-checkout/git-checkout.ts")).GitCheckoutStrategy,
  },
  copy_on_write: {
    default: async () => (await import("./copy-on-write/copy-on-write.ts")).CopyOnWriteStrategy,
  },
  filesystem_copy: {
    default: async () => (await import("./filesystem-copy/filesystem-copy.ts")).FilesystemCopyStrategy,
  },
  transaction_rollback: {
    default: async () =>
      (await import("./transaction-rollback/transaction-rollback.ts")).TransactionRollbackStrategy,
  },
  none: {
    default: async () => (await import("./none/none.ts")).NoneStrategy,
  },
};

/**
 * Those that most resources can't have, with the types that they are for: they are not loaded to choose the
 * strategy of a folder.
 */
const ONLY_FOR: { readonly [name in BuiltInStrategyName]?: readonly string[] } = {
  git_worktree: ["git-checkout"],
  transaction_rollback: ["postgres-database", "mysql-database"],
};

/** Declares the built-in strategies without loading them. */
export function declareBuiltIn(registry: SandboxStrategyRegistry, context: StrategyContext): void {
  for (const name of BUILT_IN_STRATEGY_NAMES) {
    const { default: general, ...byType } = BUILT_IN_STRATEGIES[name];
    const maker = async (type?: string) => {
      const found = await ((type === undefined ? undefined : byType[type]) ?? general)();
      return { make: (own: StrategyContext) => new found(own) };
    };
    const load = async (_: unknown, type?: string) => ({ strategy: (await maker(type)).make(context) });
    const only = ONLY_FOR[name];
    const known = {
      name,
      types: Object.keys(byType),
      strength: builtInStrength(name),
      ...(only && { only }),
    };
    registry.declare({ ...known, typeOf, load, maker });
  }
}

/** The types of databases by the server that a reference of `snapshot` names. */
const SERVERS: { readonly [server: string]: string } = {
  postgres: "postgres-database",
  mariadb: "mysql-database",
};

/**
 * The reference of a snapshot of a database has its location, and names the kind of server if there is one;
 * that of a folder snapshot has none.
 * The reference of a checkout says where its repository is, in it or elsewhere; if it does not, its sandbox
 * is that of a folder.
 */
function typeOf({ strategyName, metadata }: SandboxRef): string | undefined {
  const { repository, repositoryAt } = metadata;
  if (strategyName === "overlay")
    return (repository ?? repositoryAt) === undefined ? undefined : "git-checkout";
  if (strategyName !== "snapshot" || typeof metadata["location"] !== "string") return undefined;
  return SERVERS[String(metadata["server"])] ?? "sqlite-database";
}
