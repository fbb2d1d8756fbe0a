import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { logLines } from "../../render/plan/log-lines.ts";

/** `drydock plan log [PLAN]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).action(async (plan?: string) => {
    const log = await openToRead(context, (drydock) => drydock.log(plan));
    context.result(log, () => logLines(log, context.output.styles));
  });
}
