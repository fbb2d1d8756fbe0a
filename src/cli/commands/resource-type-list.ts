import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { resourceTypeView, typeListLines } from "../render/machine/resource-type-lines.ts";
import { look } from "../session.ts";

/** `drydock resource-type list` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const types = await look(context, async ({ resourceTypes }) =>
      resourceTypes.list().map(resourceTypeView),
    );
    context.result({ types }, () => typeListLines(types, context.output.styles));
  });
}
