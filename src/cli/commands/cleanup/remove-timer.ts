import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { armFailpoints } from "../../../system/failpoints.ts";
import type { CommandContext } from "../../command-context.ts";
import { removeTimer } from "./cleanup-timer.ts";

/** `drydock cleanup remove-timer [--system]` */
export function define(command: Command, context: CommandContext): void {
  command
    .option("--system", "for the machine, in /etc/systemd/system, instead of for this user")
    .action(async ({ system = false }: { readonly system?: boolean }) => {
      armFailpoints(context.environment["DRYDOCK_FAILPOINT"], context.environment["DRYDOCK_FAILPOINT_TRACE"]);
      const folder = removeTimer(context, system);
      const systemctl = system ? "systemctl" : "systemctl --user";
      context.result({ folder }, () => [
        `Removed the timer from ${displayPath(folder)}. If it runs now, end it:`,
        `  ${systemctl} stop drydock-cleanup.timer; ${systemctl} daemon-reload`,
      ]);
    });
}
