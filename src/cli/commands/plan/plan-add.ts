import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { RESOURCE_HELP, resourceRequests } from "../../options/resource-requests.ts";
import { resourceLines } from "../../render/plan/plan-lines.ts";

/** `drydock plan add [PLAN] RESOURCE [--allow-irreversible]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command.usage("[options] [PLAN] RESOURCE"))
    .argument("[RESOURCE]", "what the plan may change from now on")
    .option("--allow-irreversible", "allow a resource whose changes can't be undone")
    .addHelpText("after", RESOURCE_HELP)
    .action(
      async (
        first: string | undefined,
        second: string | undefined,
        { allowIrreversible = false }: { readonly allowIrreversible?: boolean },
      ) => {
        const [plan, resource] = second === undefined ? [undefined, first] : [first, second];
        const resources = resourceRequests(resource === undefined ? [] : [resource], context.cwd);
        const view = await openToChange(context, plan, (drydock) =>
          drydock.plans.add(plan, { resources, allowIrreversible }),
        );
        const { errorStyles } = context.output;
        context.result(view, () => [`Added to plan ${view.name} (${view.id}).`]);
        const added = view.resources.at(-1);
        if (context.options.json || !context.output.terminal.interactive || added === undefined) return;
        for (const line of resourceLines(added, errorStyles)) context.output.notice(line);
      },
    );
}
