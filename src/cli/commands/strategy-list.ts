import type { Command } from "commander";
import { withDefaults } from "../../core/capabilities.ts";
import type { CommandContext } from "../command-context.ts";
import { strategyLines } from "../render/strategy-lines.ts";
import { look } from "../session.ts";

/** `drydock strategy list` */
export function defineStrategyList(command: Command, context: CommandContext): void {
  command.action(async () => {
    const strategies = await look(context, async ({ registry }) =>
      registry
        .list()
        .map(({ name, builtIn, strategy }) => ({ name, builtIn, ...withDefaults(strategy.capabilities) }))
        .toSorted((a, b) => b.strength - a.strength),
    );
    context.result({ strategies }, () => strategyLines(strategies, context.output.styles));
  });
}
