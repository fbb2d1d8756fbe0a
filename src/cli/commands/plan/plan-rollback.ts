import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";

/** `drydock plan rollback [PLAN]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).action(async (name?: string) => {
    const plan = await openToChange(context, name, (drydock) => drydock.plans.rollback(name), {
      makesRoom: true,
    });
    context.result(plan, () => [
      `Rolled back plan ${displayPath(plan.name)} (${plan.id}): its sandboxes show the originals again.`,
    ]);
  });
}
