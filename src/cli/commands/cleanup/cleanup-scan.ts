import type { Command } from "commander";
import { parseDuration } from "../../../config/duration.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { cleanupItemLines, idlePlanLines } from "../../render/machine/cleanup-lines.ts";

/** `drydock cleanup scan [--older-than AGE]` */
export function define(command: Command, context: CommandContext): void {
  command
    .option("--older-than <age>", "only leftovers of at least this age: 7d, 12h, 30m or 90s")
    .action(async ({ olderThan }: { readonly olderThan?: string }) => {
      const options = olderThan === undefined ? {} : { olderThanMs: parseDuration(olderThan) };
      const found = await openToRead(context, async ({ cleanup }) => ({
        items: await cleanup.scan(options),
        idlePlans: await cleanup.idlePlans(options),
      }));
      context.result(found, () => [
        ...cleanupItemLines(found.items, context.output.styles),
        ...idlePlanLines(found.idlePlans, context.output.styles),
      ]);
    });
}
