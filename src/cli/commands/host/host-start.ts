import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { fleetOf } from "../../../plans/resources/fleet-of.ts";
import { armFailpoints } from "../../../system/failpoints.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { version } from "../version.ts";

/** `drydock host start [--install [--system]]` */
export function define(command: Command, context: CommandContext): void {
  command
    .option("--install", "write a unit of systemd that starts it, and do not start it now")
    .option("--system", "with --install: for the machine, in /etc/systemd/system, instead of for this user")
    .action(async ({ install = false, system = false }: StartOptions) => {
      if (install) return await installService(context, system);
      await openToChange(
        context,
        undefined,
        async (drydock, signal) =>
          await fleetOf(drydock).serve(
            {
              signal,
              onReady: ({ host }) => context.result({ host }, () => [`${host} is up`]),
              onNotice: (message) => context.output.notice(`host: ${message}`),
            },
            await version(),
          ),
        { isHostService: true },
      );
    });
}

interface StartOptions {
  readonly install?: boolean;
  readonly system?: boolean;
}

async function installService(context: CommandContext, isSystem: boolean): Promise<void> {
  armFailpoints(context.environment["DRYDOCK_FAILPOINT"], context.environment["DRYDOCK_FAILPOINT_TRACE"]);
  const { installHost } = await import("./host-unit.ts");
  const { folder, unit } = installHost(context, isSystem);
  const systemctl = isSystem ? "systemctl" : "systemctl --user";
  context.result({ folder, unit }, () => [
    `Installed ${unit} in ${displayPath(folder)}. It starts with the next ${isSystem ? "boot" : "login"}, or at once with:`,
    `  ${systemctl} daemon-reload && ${systemctl} start ${unit}`,
  ]);
}
