import type { Command } from "commander";
import type { WantedLabels } from "../../../plans/plan-labels.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addWantedLabelOption } from "../../options/label-option.ts";
import { planListLines } from "../../render/plan/plan-lines.ts";

interface ListOptions {
  readonly all?: boolean;
  readonly label?: WantedLabels;
}

/** `drydock plan list [--all] [--label KEY[=VALUE]]…` */
export function define(command: Command, context: CommandContext): void {
  addWantedLabelOption(command.option("-a, --all", "also applied, undone and cancelled plans")).action(
    async ({ all = false, label: labels = {} }: ListOptions) => {
      const plans = await openToRead(context, (drydock) => drydock.plans.list({ all, labels }));
      context.result({ plans }, () => planListLines(plans, context.output.styles));
    },
  );
}
