import type { Command } from "commander";
import { pathFromBytes } from "../../../core/paths/byte-path.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { addFileArguments, fileArguments } from "../../options/plan-argument.ts";
import { harmless } from "../../terminal/printable.ts";

/** `drydock plan read [PLAN] RESOURCE PATH` */
export function define(command: Command, context: CommandContext): void {
  addFileArguments(command).action(async (first: string, second: string, third?: string) => {
    const { plan, resource, path: given } = fileArguments(first, second, third);
    const path = unescapePath(given);
    // A program gets the exact bytes; on a terminal, hidden characters are escaped.
    const isTerminal = context.output.terminal.interactive;
    const content = await openToRead(context, (drydock) => drydock.plans.read(plan, resource, path));
    if (!context.options.json)
      return context.output.write(isTerminal ? harmless(pathFromBytes(content)) : content);
    return context.output.document({
      resource,
      path,
      size: content.length,
      base64: Buffer.from(content).toString("base64"),
    });
  });
}
