import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";

/** `drydock plan path [PLAN] [RESOURCE]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .argument("[RESOURCE]", "name of the resource; default: the only one")
    .action(async (plan?: string, resource?: string) => {
      const path = await openToRead(context, (drydock) => drydock.plans.path(plan, resource));
      // A program gets the exact bytes, so that `cd "$(drydock plan path …)"` works for every path.
      const shown = context.output.terminal.interactive ? displayPath(path) : path;
      context.result({ path }, () => [shown]);
    });
}
