import type { Command } from "commander";
import type { ApplyOptions } from "../../plans/plan-views.ts";
import { reportApply } from "../apply-outcome.ts";
import type { CommandContext } from "../command-context.ts";
import { unescapePath } from "../escaped-path.ts";
import { addPlanArgument } from "../plan-argument.ts";
import { applyLines } from "../render/apply-lines.ts";
import { change } from "../session.ts";

/** `drydock plan apply [PLAN] [-m MESSAGE] [--only [RESOURCE:]PATTERN…] [--digest D] [--dry-run] [--allow-irreversible] [--after-restart]` */
export function definePlanApply(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("-m, --message <text>", "why; kept with the plan")
    .option(
      "--only <paths...>",
      "land only these paths ([RESOURCE:]PATTERN, with * and **); the rest stays in the plan",
    )
    .option("--digest <digest>", "land only exactly what 'plan diff' showed with this digest")
    .option("--dry-run", "do everything up to the decision, then take it back")
    .option("--allow-irreversible", "also land what can't be undone")
    .option("--after-restart", "land though the machine was restarted since, and work may be missing")
    .action(async (plan: string | undefined, { message, digest, only, dryRun = false, ...allowed }: ApplyOptions) => {
      const result = await change(context, plan, (drydock) =>
        drydock.plans.apply(plan, {
          ...(message === undefined ? {} : { message }),
          ...(digest === undefined ? {} : { digest }),
          ...(only === undefined ? {} : { only: only.map(unescapePath) }),
          ...allowed,
          dryRun,
        }),
      );
      reportApply(context, result, () => applyLines(result, dryRun));
    });
}
