import type { Command } from "commander";
import { fleetOf } from "../../../plans/resources/fleet-of.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";

/** `drydock host remove HOST` */
export function define(command: Command, context: CommandContext): void {
  command.argument("<HOST>", "a host that is gone for good").action(async (name: string) => {
    await openToChange(context, undefined, (drydock) => fleetOf(drydock).remove(name));
    context.result({ removed: name }, () => [`${name} is no host of the fleet any more.`]);
  });
}
