import type { Command } from "commander";
import { parseDuration } from "../../../config/duration.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { cleanupItemLines, idlePlanLines } from "../../render/machine/cleanup-lines.ts";

interface ScanOptions {
  readonly olderThan?: string;
  readonly idle?: number;
}

const UNUSED_MS = 7 * 86_400_000;

/** `drydock cleanup scan [--older-than AGE] [--idle AGE]` */
export function define(command: Command, context: CommandContext): void {
  command
    .option("--older-than <age>", "only leftovers of at least this age: 7d, 12h, 30m or 90s")
    .option("--idle <age>", "also open plans that were not used for this long; default: 7d", parseDuration)
    .action(async ({ olderThan, idle: unusedForMs = UNUSED_MS }: ScanOptions) => {
      const options = olderThan === undefined ? {} : { olderThanMs: parseDuration(olderThan) };
      const { items, idle } = await openToRead(context, async (drydock) => ({
        items: await drydock.cleanup.scan(options),
        idle: await drydock.cleanup.idle({ unusedForMs }),
      }));
      context.result({ items, idle }, () => [
        ...cleanupItemLines(items, context.output.styles),
        ...idlePlanLines(idle, context.output.styles),
      ]);
    });
}
