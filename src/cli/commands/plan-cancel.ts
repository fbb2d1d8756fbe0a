import type { Command } from "commander";
import { displayPath } from "../../core/byte-path.ts";
import type { CommandContext } from "../command-context.ts";
import { addPlanArgument } from "../plan-argument.ts";
import { change } from "../session.ts";

/** `drydock plan cancel [PLAN]` */
export function definePlanCancel(command: Command, context: CommandContext): void {
  addPlanArgument(command).action(async (name?: string) => {
    const plan = await change(context, name, (drydock) => drydock.plans.cancel(name));
    context.result(plan, () => [`Cancelled plan ${displayPath(plan.name)} (${plan.id}).`]);
  });
}
