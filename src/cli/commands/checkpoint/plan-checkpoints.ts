import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { checkpointListLines } from "../../render/plan/checkpoint-lines.ts";

/** `drydock plan checkpoints [PLAN]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).action(async (plan?: string) => {
    const result = await openToRead(context, async (drydock) => {
      const { id } = await drydock.plans.find(plan);
      return { planId: id, checkpoints: await drydock.checkpoints.list(id) };
    });
    context.result(result, () => checkpointListLines(result.checkpoints, context.output.styles));
  });
}
