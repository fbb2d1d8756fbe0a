import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { armFailpoints } from "../../../system/failpoints.ts";
import type { CommandContext } from "../../command-context.ts";
import { installTimer } from "./cleanup-timer.ts";

/** `drydock cleanup install-timer [--system]` */
export function define(command: Command, context: CommandContext): void {
  command
    .option("--system", "for the machine, in /etc/systemd/system, instead of for this user")
    .action(async ({ system = false }: { readonly system?: boolean }) => {
      armFailpoints(context.environment["DRYDOCK_FAILPOINT"], context.environment["DRYDOCK_FAILPOINT_TRACE"]);
      const folder = installTimer(context, system);
      const systemctl = system ? "systemctl" : "systemctl --user";
      context.result({ folder }, () => [
        `Installed the timer in ${displayPath(folder)}. It starts with your next login, or at once with:`,
        `  ${systemctl} daemon-reload && ${systemctl} start drydock-cleanup.timer`,
      ]);
    });
}
