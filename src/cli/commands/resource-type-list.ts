import type { Command } from "commander";
import { resourceTypeView } from "../../plans/resources/resource-type-view.ts";
import type { CommandContext } from "../command-context.ts";
import { openToRead } from "../open-for-command.ts";
import { typeListLines } from "../render/machine/resource-type-lines.ts";

/** `drydock resource-type list` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const types = await openToRead(context, async ({ resourceTypes }) =>
      resourceTypes.list().map(resourceTypeView),
    );
    context.result({ types }, () => typeListLines(types, context.output.styles));
  });
}
