import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { placeLines } from "../../render/machine/cleanup-lines.ts";
import { planLines } from "../../render/plan/plan-lines.ts";

/** `drydock plan show [PLAN] [--places]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("--places", "also everything that the plan has in the world")
    .action(async (name: string | undefined, { places: wanted = false }: { readonly places?: boolean }) => {
      const { styles } = context.output;
      const { plan, places } = await openToRead(context, async (drydock) => {
        const plan = await drydock.plans.show(name);
        return { plan, places: wanted ? await drydock.cleanup.places(plan.id) : undefined };
      });
      context.result({ ...plan, ...(places !== undefined && { places }) }, () => [
        ...planLines(plan, styles),
        ...(places === undefined ? [] : ["", styles.bold("places"), ...placeLines(places, styles)]),
      ]);
    });
}
