import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { assertCommand } from "../../options/inner-command.ts";
import { addRunOptions, runInPlan } from "./run-in-plan.ts";
import type { RunOptions } from "./run-options.ts";

/** `drydock run [options] [--] COMMAND…`: the first word that is no option begins the command. */
export function define(command: Command, context: CommandContext): void {
  addRunOptions(command.usage("[options] [--] COMMAND…").passThroughOptions())
    .argument("[COMMAND...]", "what to run")
    .action(async (inner: readonly string[], options: RunOptions) => {
      const isComplete = options.explain === true && inner.length === 0;
      await runInPlan(context, isComplete ? [] : assertCommand(inner, "drydock run COMMAND …"), options);
    });
}
