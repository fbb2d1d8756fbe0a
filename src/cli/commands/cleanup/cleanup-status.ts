import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { cleanupStatusLines } from "../../render/machine/cleanup-lines.ts";

/** `drydock cleanup status` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const status = await openToRead(context, (drydock) => drydock.cleanup.status());
    context.result(status, () => cleanupStatusLines(status, context.output.styles));
  });
}
