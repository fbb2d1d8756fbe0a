import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { EXIT } from "../../exit-codes.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { updateLines } from "../../render/update-lines.ts";

/** `drydock plan update [PLAN]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).action(async (plan: string | undefined) => {
    const result = await openToChange(context, plan, ({ updates }) => updates.update(plan));
    context.result(result, () => updateLines(result));
    if (result.marked.length > 0 || result.unmerged.length > 0) context.exitWith(EXIT.conflict);
  });
}
