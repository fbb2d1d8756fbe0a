import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { WantedLabels } from "../../../plans/plan-labels.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addWantedLabelOption } from "../../options/label-option.ts";
import { planListLines } from "../../render/plan/plan-lines.ts";

interface ListOptions {
  readonly all?: boolean;
  readonly label?: WantedLabels;
  readonly limit?: number;
}

/** `drydock plan list [--all] [--label KEY[=VALUE]]… [--limit COUNT]` */
export function define(command: Command, context: CommandContext): void {
  addWantedLabelOption(command.option("-a, --all", "also applied, undone and cancelled plans"))
    .option("--limit <count>", "at most so many plans, the newest", parseCount)
    .action(async ({ label: labels = {}, ...options }: ListOptions) => {
      const plans = await openToRead(context, (drydock) => drydock.plans.list({ ...options, labels }));
      context.result({ plans }, () => planListLines(plans, context.output.styles));
    });
}

function parseCount(text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new UsageError(`'${displayPath(text)}' is not a number of plans.`, { hint: "Write --limit 20." });
  return Number(text);
}
