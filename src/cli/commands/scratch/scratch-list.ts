import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { scratchList } from "../../render/plan/outside-lines.ts";

/** `drydock plan scratch list [PLAN] [--all]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("--all", "each file, also in caches and temporary folders")
    .action(async (plan: string | undefined, { all = false }: { readonly all?: boolean }) => {
      const list = await openToRead(context, (drydock) => drydock.scratch.list(plan));
      context.result(list, () => scratchList(list, { all, home: context.environment["HOME"] }));
    });
}
