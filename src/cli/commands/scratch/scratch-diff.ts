import { resolve } from "node:path";
import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { terminalPatch } from "../../render/diff/patch-line.ts";
import { printPaged } from "../../terminal/pager.ts";

/** `drydock plan scratch diff [PLAN] [--no-pager] [PATH…]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .argument("[PATH...]", "only what is at or below these paths; default: all but caches")
    .option("--no-pager", "print at once, also at a terminal")
    .action(async (plan: string | undefined, given: readonly string[], { pager }: { pager?: boolean }) => {
      const { output, cwd } = context;
      const paths = given.map((path) => resolve(cwd, unescapePath(path)));
      await openToRead(context, async (drydock) => {
        const { id } = await drydock.plans.find(plan);
        if (context.options.json) {
          const parts = await Array.fromAsync(drydock.scratch.patch(id, paths));
          return output.document({ planId: id, patch: parts.join("") });
        }
        const text = async function* () {
          for await (const part of drydock.scratch.patch(id, paths))
            yield output.terminal.interactive ? terminalPatch(part, output.styles) : part;
        };
        await printPaged(context, text, pager !== false);
      });
    });
}
