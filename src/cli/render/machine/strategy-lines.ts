import type { FullCapabilities } from "../../../core/capabilities.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";

/** A strategy as `strategy list` shows it. */
export interface StrategyView extends FullCapabilities {
  readonly name: string;
  readonly builtIn: boolean;
}

/** Strategies as a table. */
export function strategyLines(strategies: readonly StrategyView[], styles: Styles): readonly string[] {
  const headings = ["NAME", "STRENGTH", "COMMIT", "UNDO", "CHECKPOINT", "ISOLATION", "FOR", ""];
  const rows = strategies.map((strategy) => [
    { text: strategy.name, style: styles.bold },
    String(strategy.strength),
    strategy.commit,
    yesOrNo(strategy.undo),
    yesOrNo(strategy.checkpoint),
    strategy.isolation,
    strategy.resourceTypes === "all" ? "every type" : strategy.resourceTypes.join(", "),
    strategy.builtIn ? "" : "custom",
  ]);
  return textTable([headings.map((text) => ({ text, style: styles.dim })), ...rows]);
}

function yesOrNo(value: boolean): string {
  return value ? "yes" : "no";
}
