import type { Command } from "commander";
import { reportApply } from "../../apply-outcome.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { undoLines } from "../../render/plan/apply-lines.ts";

/** `drydock plan undo [PLAN]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).action(async (plan?: string) => {
    const result = await openToChange(context, plan, (drydock) => drydock.plans.undo(plan));
    reportApply(context, result, () => undoLines(result));
  });
}
