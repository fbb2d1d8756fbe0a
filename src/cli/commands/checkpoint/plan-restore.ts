import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { restoreLines } from "../../render/plan/checkpoint-lines.ts";

/** `drydock plan restore [PLAN] CHECKPOINT` */
export function define(command: Command, context: CommandContext): void {
  // With two arguments the first is the plan; a single one is the checkpoint, of the only open plan.
  addPlanArgument(command.usage("[options] [PLAN] CHECKPOINT"))
    .argument("[CHECKPOINT]", "id of the checkpoint, the beginning of it, or its label")
    .action(async (first: string | undefined, second: string | undefined) => {
      if (first === undefined)
        throw new UsageError("The checkpoint to restore is missing.", {
          hint: "'drydock plan checkpoints' lists them.",
        });
      const [plan, checkpoint] = second === undefined ? [undefined, first] : [first, second];
      const result = await openToChange(context, plan, (drydock) =>
        drydock.checkpoints.restore(plan, checkpoint),
      );
      context.result(result, () => restoreLines(result));
      for (const warning of result.warnings) context.output.warning(warning);
    });
}
