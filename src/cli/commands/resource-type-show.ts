import type { Command } from "commander";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { ResourceTypes } from "../../core/resource/resource-types.ts";
import { nearestName } from "../../core/values/nearest-name.ts";
import type { CommandContext } from "../command-context.ts";
import { openToRead } from "../open-for-command.ts";
import { resourceTypeView, typeLines } from "../render/machine/resource-type-lines.ts";

/** `drydock resource-type show TYPE` */
export function define(command: Command, context: CommandContext): void {
  command.argument("<type>", "the name of a type").action(async (name: string) => {
    const type = await openToRead(context, async ({ resourceTypes }) => {
      assertKnown(resourceTypes, name);
      return resourceTypeView(resourceTypes.get(name));
    });
    const { configJsonSchema, schemaAt } = await import("../../config/json-schema.ts");
    const schema = schemaAt(configJsonSchema(), ["resource_types", name]);
    context.result({ ...type, schema }, () => typeLines(type, context.output.styles));
  });
}

function assertKnown(types: ResourceTypes, name: string): void {
  if (types.has(name)) return;
  const known = types.list().map((type) => type.name);
  const nearest = nearestName(name, known);
  throw new UsageError(`There is no type of resource called '${displayPath(name)}'.`, {
    hint: `${nearest === undefined ? "" : `Did you mean ${nearest}? `}Known types: ${known.join(", ")}.`,
    code: "UNKNOWN_TYPE",
  });
}
