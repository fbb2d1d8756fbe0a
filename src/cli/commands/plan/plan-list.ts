import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { planListLines } from "../../render/plan/plan-lines.ts";

/** `drydock plan list [--all]` */
export function define(command: Command, context: CommandContext): void {
  command
    .option("-a, --all", "also applied, undone and cancelled plans")
    .action(async ({ all = false }: { readonly all?: boolean }) => {
      const plans = await openToRead(context, (drydock) => drydock.plans.list({ all }));
      context.result({ plans }, () => planListLines(plans, context.output.styles));
    });
}
