import type { Command } from "commander";
import { fleetOf } from "../../../plans/resources/fleet-of.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { hostLines } from "../../render/fleet/host-lines.ts";

/** `drydock host show [HOST]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("[HOST]", "the name of a host; default: this one")
    .action(async (name: string | undefined) => {
      const host = await openToRead(context, async (drydock) => {
        const fleet = fleetOf(drydock);
        return await fleet.show(name ?? fleet.host);
      });
      context.result(host, () => hostLines(host, context.output.styles));
    });
}
