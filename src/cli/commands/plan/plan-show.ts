import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { planLines } from "../../render/plan/plan-lines.ts";

/** `drydock plan show [PLAN]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).action(async (name?: string) => {
    const plan = await openToRead(context, (drydock) => drydock.plans.show(name));
    context.result(plan, () => planLines(plan, context.output.styles));
  });
}
