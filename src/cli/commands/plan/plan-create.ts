import type { Command } from "commander";
import type { PlanLabels } from "../../../core/plan.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addLabelOption } from "../../options/label-option.ts";
import { addResourceOption, resourceRequests } from "../../options/resource-requests.ts";
import { resourceLines } from "../../render/plan/plan-lines.ts";

interface CreateOptions {
  readonly resource?: readonly string[];
  readonly name?: string;
  readonly label?: PlanLabels;
  readonly readOnly?: boolean;
  readonly allowIrreversible?: boolean;
}

/** `drydock plan create [-r …]… [--name N] [--label KEY=VALUE]… [--read-only] [--allow-irreversible]` */
export function define(command: Command, context: CommandContext): void {
  addLabelOption(addResourceOption(command))
    .option("--name <name>", "name of the plan")
    .option("--read-only", "the plan can never be applied")
    .option("--allow-irreversible", "allow resources whose changes can't be undone")
    .action(
      async ({
        resource: given = ["."],
        name,
        label: labels,
        readOnly = false,
        allowIrreversible = false,
      }: CreateOptions) => {
        const resources = resourceRequests(given, context.cwd);
        const plan = await openToChange(context, undefined, (drydock) =>
          drydock.plans.create({
            resources,
            ...(name === undefined ? {} : { name }),
            ...(labels === undefined ? {} : { labels }),
            readOnly,
            allowIrreversible,
          }),
        );
        context.result(plan, () => [plan.id]);
        if (context.options.json || !context.output.terminal.interactive) return;
        // stdout has only the id, for scripts; a person sees the plan on stderr.
        for (const resource of plan.resources) {
          for (const line of resourceLines(resource, context.output.errorStyles)) context.output.notice(line);
        }
      },
    );
}
