import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { openToRead } from "../open-for-command.ts";
import { strategyLines } from "../render/machine/strategy-lines.ts";
import { oneLine } from "../terminal/printable.ts";

/** `drydock strategy list` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const { strategies, unusable } = await openToRead(context, async ({ registry }) => {
      const all = await registry.listAll();
      return {
        strategies: all.strategies.map(({ name, builtIn, capabilities, madeWith: { version } }) => ({
          name,
          builtIn,
          ...(version !== undefined && { version }),
          ...capabilities,
        })),
        unusable: all.unusable.map(({ name, error: { code, message, hint } }) => ({
          name,
          code,
          message,
          hint,
        })),
      };
    });
    // A declared strategy that can't be used is a usage error, but the others are listed all the same.
    if (unusable.length > 0) context.exitWith(EXIT.usage);
    context.result({ strategies, ...(unusable.length > 0 && { unusable }) }, () => [
      ...strategyLines(strategies, context.output.styles),
      ...unusable.flatMap(({ message, hint }) => ["", oneLine(message), `  hint: ${oneLine(hint)}`]),
    ]);
  });
}
