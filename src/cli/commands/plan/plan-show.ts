import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { placeLines } from "../../render/machine/place-lines.ts";
import { planLines } from "../../render/plan/plan-lines.ts";

/** `drydock plan show [PLAN] [--places]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("--places", "also everything that the plan has on this machine and on servers")
    .action(async (name: string | undefined, { places: isAsked }: { readonly places?: boolean }) => {
      const { plan, places } = await openToRead(context, async ({ plans, cleanup }) => {
        const shown = await plans.show(name);
        return { plan: shown, places: isAsked === true ? await cleanup.places(shown.id) : undefined };
      });
      context.result({ ...plan, ...(places !== undefined && { places }) }, () => [
        ...planLines(plan, context.output.styles),
        ...(places === undefined ? [] : placeLines(places)),
      ]);
    });
}
