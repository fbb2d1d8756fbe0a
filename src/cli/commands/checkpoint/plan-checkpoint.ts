import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { checkpointLines } from "../../render/plan/checkpoint-lines.ts";

/** `drydock plan checkpoint [PLAN] [--label LABEL]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("--label <label>", "name of the checkpoint; later checkpoints never replace one with a label")
    .action(async (plan: string | undefined, { label }: { readonly label?: string }) => {
      const options = label === undefined ? {} : { label };
      const result = await openToChange(context, plan, (drydock) =>
        drydock.checkpoints.checkpoint(plan, options),
      );
      context.result(result, () => checkpointLines(result));
      for (const warning of result.warnings) context.output.warning(warning);
    });
}
