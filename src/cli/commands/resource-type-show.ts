import type { Command } from "commander";
import { nearestName } from "../../config/nearest-name.ts";
import { displayPath } from "../../core/byte-path.ts";
import { UsageError } from "../../core/errors.ts";
import type { ResourceTypes } from "../../core/resource-types.ts";
import type { CommandContext } from "../command-context.ts";
import { resourceTypeView, typeLines } from "../render/resource-type-lines.ts";
import { look } from "../session.ts";

/** `drydock resource-type show TYPE` */
export function define(command: Command, context: CommandContext): void {
  command.argument("<type>", "the name of a type").action(async (name: string) => {
    const type = await look(context, async ({ resourceTypes }) => {
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
