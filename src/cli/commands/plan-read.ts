import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { unescapePath } from "../escaped-path.ts";
import { addFileArguments, fileArguments } from "../plan-argument.ts";
import { look } from "../session.ts";

/** `drydock plan read [PLAN] RESOURCE PATH` */
export function definePlanRead(command: Command, context: CommandContext): void {
  addFileArguments(command).action(async (first: string, second: string, third?: string) => {
    const { plan, resource, path: given } = fileArguments(first, second, third);
    const path = unescapePath(given);
    const content = await look(context, (drydock) => drydock.plans.read(plan, resource, path));
    if (!context.options.json) return context.output.write(content);
    return context.output.document({
      resource,
      path,
      size: content.length,
      base64: Buffer.from(content).toString("base64"),
    });
  });
}
