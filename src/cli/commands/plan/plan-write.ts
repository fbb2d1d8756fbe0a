import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { addFileArguments, fileArguments } from "../../options/plan-argument.ts";
import { writtenLines } from "../../render/diff/diff-lines.ts";
import { standardInput } from "../../terminal/standard-input.ts";

/** `drydock plan write [PLAN] RESOURCE PATH < FILE` */
export function define(command: Command, context: CommandContext): void {
  addFileArguments(command).action(async (first: string, second: string, third?: string) => {
    const { plan, resource, path } = fileArguments(first, second, third);
    const written = await openToChange(context, plan, async (drydock, signal) => {
      // A wrong plan is refused before the user types content.
      const { id } = await drydock.plans.find(plan);
      const content = standardInput(process.stdin, signal);
      return await drydock.entries.write({ plan: id, resource, path: unescapePath(path) }, content);
    });
    const result = { resource, ...written };
    context.result(result, () => writtenLines(result, context.output.styles));
  });
}
