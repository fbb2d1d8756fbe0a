import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { placeOf } from "../../render/plan/attention-line.ts";

/** `drydock plan mv PLAN RESOURCE FROM TO` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("<PLAN>", "id of the plan, the beginning of it, or its name")
    .argument("<RESOURCE>", "name of the resource")
    .argument("<FROM>", "path within the resource", unescapePath)
    .argument("<TO>", "its new path, where nothing may be yet", unescapePath)
    .action(async (plan: string, resource: string, from: string, to: string) => {
      await openToChange(context, plan, ({ entries }) => entries.rename({ plan, resource, path: from }, to));
      context.result({ resource, from, to }, () => [
        `R  ${placeOf(resource, from)} -> ${placeOf(resource, to)}`,
      ]);
    });
}
