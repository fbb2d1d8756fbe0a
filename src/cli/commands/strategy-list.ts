import type { Command } from "commander";
import { strategyViews } from "../../strategies/strategy-views.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { openToRead } from "../open-for-command.ts";
import { strategyLines } from "../render/machine/strategy-lines.ts";
import { oneLine } from "../terminal/printable.ts";

/** `drydock strategy list` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const { strategies, unusable } = await openToRead(context, ({ registry }) => strategyViews(registry));
    // A declared strategy that can't be used is a usage error, but the others are listed all the same.
    if (unusable.length > 0) context.exitWith(EXIT.usage);
    context.result({ strategies, ...(unusable.length > 0 && { unusable }) }, () => [
      ...strategyLines(strategies, context.output.styles),
      ...unusable.flatMap(({ message, hint }) => ["", oneLine(message), `  hint: ${oneLine(hint)}`]),
    ]);
  });
}
