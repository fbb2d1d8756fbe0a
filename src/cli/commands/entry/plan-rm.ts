import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { placeOf } from "../../render/plan/attention-line.ts";

/** `drydock plan rm PLAN RESOURCE PATH… [--recursive]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("<PLAN>", "id of the plan, the beginning of it, or its name")
    .argument("<RESOURCE>", "name of the resource")
    .argument("<PATH...>", "paths within the resource")
    .option("-R, --recursive", "also folders that are not empty, with everything in them")
    .action(
      async (
        plan: string,
        resource: string,
        given: readonly string[],
        options: { readonly recursive?: boolean },
      ) => {
        const paths = given.map(unescapePath);
        await openToChange(context, plan, async ({ entries }) => {
          for (const path of paths) await entries.remove({ plan, resource, path }, options);
        });
        context.result({ resource, removed: paths }, () =>
          paths.map((path) => `D  ${placeOf(resource, path)}`),
        );
      },
    );
}
