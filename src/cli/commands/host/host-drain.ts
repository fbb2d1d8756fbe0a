import type { Command } from "commander";
import { fleetOf } from "../../../plans/resources/fleet-of.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";

/** `drydock host drain HOST [--undo]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("<HOST>", "the name of a host")
    .option("--undo", "let it take new sandboxes again")
    .action(async (name: string, { undo = false }: { readonly undo?: boolean }) => {
      const host = await openToChange(context, undefined, (drydock) => fleetOf(drydock).drain(name, !undo));
      context.result(host, () => [
        undo ? `${name} takes new sandboxes again.` : `${name} takes no new sandboxes. Its plans go on.`,
      ]);
    });
}
