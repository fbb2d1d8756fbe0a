import type { Command } from "commander";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { ChangeList, linesOf } from "../../render/diff/diff-lines.ts";
import { placeLines } from "../../render/machine/place-lines.ts";
import { planLines } from "../../render/plan/plan-lines.ts";

/** `drydock plan show [PLAN] [--places]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("--places", "also everything that the plan has on this machine and on servers")
    .action(async (name: string | undefined, { places: isAsked = false }: { readonly places?: boolean }) => {
      const { plan, places, landed } = await openToRead(context, (drydock) =>
        look(drydock, name, { places: isAsked, landed: !context.options.json }),
      );
      const { styles } = context.output;
      context.result({ ...plan, ...(places !== undefined && { places }) }, () => [
        ...planLines(plan, styles),
        ...(places === undefined ? [] : placeLines(places)),
        ...(landed === undefined ? [] : ["", ...linesOf(landed, new ChangeList(styles))]),
      ]);
    });
}

async function look(
  { plans, cleanup }: Services,
  name: string | undefined,
  wanted: { readonly places: boolean; readonly landed: boolean },
) {
  const plan = await plans.show(name);
  const places = wanted.places ? await cleanup.places(plan.id) : undefined;
  const landed = wanted.landed && plan.state === "applied" ? await plans.diff(plan.id) : undefined;
  return { plan, places, landed };
}
