/**
 * The built-in strategies, strongest first. This is the one definition: types, config schema, CLI help and
 * docs come from it.
 *
 * "Stronger" means: isolates more completely and lands more safely. The order is total; `auto` takes the
 * first that works here. For a git checkout, `overlay` comes first: it shows the checkout at its own path.
 */
export const BUILT_IN_STRATEGY_NAMES = [
  "git_worktree",
  "snapshot",
  "overlay",
  "copy_on_write",
  "filesystem_copy",
  "transaction_rollback",
  "none",
] as const;

export type BuiltInStrategyName = (typeof BUILT_IN_STRATEGY_NAMES)[number];

/** The strength that a built-in declares in its capabilities; larger is stronger. */
export function builtInStrength(name: BuiltInStrategyName): number {
  return (BUILT_IN_STRATEGY_NAMES.length - BUILT_IN_STRATEGY_NAMES.indexOf(name) - 1) * 10;
}
