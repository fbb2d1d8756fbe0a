import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addResourceOption, resourceRequests } from "../../options/resource-requests.ts";
import { resourceLines } from "../../render/plan/plan-lines.ts";

interface CreateOptions {
  readonly resource?: readonly string[];
  readonly name?: string;
  readonly readOnly?: boolean;
  readonly allowIrreversible?: boolean;
}

/** `drydock plan create [-r …]… [--name N] [--read-only] [--allow-irreversible]` */
export function define(command: Command, context: CommandContext): void {
  addResourceOption(command)
    .option("--name <name>", "name of the plan")
    .option("--read-only", "the plan can never be applied")
    .option("--allow-irreversible", "allow resources whose changes can't be undone")
    .action(
      async ({
        resource: given = ["."],
        name,
        readOnly = false,
        allowIrreversible = false,
      }: CreateOptions) => {
        const resources = resourceRequests(given, context.cwd);
        const plan = await openToChange(context, undefined, (drydock) =>
          drydock.plans.create({
            resources,
            ...(name === undefined ? {} : { name }),
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
