import type { Command } from "commander";
import { fleetOf } from "../../../plans/resources/fleet-of.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { hostListLines } from "../../render/fleet/host-lines.ts";

/** `drydock host list` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const { host, hosts } = await openToRead(context, async (drydock) => {
      const fleet = fleetOf(drydock);
      return { host: fleet.host, hosts: await fleet.hosts() };
    });
    context.result({ host, hosts }, () => hostListLines(hosts, host, context.output.styles));
  });
}
