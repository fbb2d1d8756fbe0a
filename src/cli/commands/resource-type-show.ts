import type { Command } from "commander";
import { knownType } from "../../plans/resources/resource-type-view.ts";
import type { CommandContext } from "../command-context.ts";
import { openToRead } from "../open-for-command.ts";
import { typeLines } from "../render/machine/resource-type-lines.ts";

/** `drydock resource-type show TYPE` */
export function define(command: Command, context: CommandContext): void {
  command.argument("<type>", "the name of a type").action(async (name: string) => {
    const type = await openToRead(context, async ({ resourceTypes }) => knownType(resourceTypes, name));
    const { configJsonSchema, schemaAt } = await import("../../config/json-schema.ts");
    const schema = schemaAt(configJsonSchema(), ["resource_types", name]);
    context.result({ ...type, schema }, () => typeLines(type, context.output.styles));
  });
}
