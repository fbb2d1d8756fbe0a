import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import {
  addCommandOptions,
  type CommandOptions,
  commandRequest,
  givenFolder,
} from "../../options/command-options.ts";
import { argumentsBefore, innerCommand } from "../../options/inner-command.ts";
import { scratchLines } from "../../render/plan/run-lines.ts";
import { RunningSignals } from "../../running-signals.ts";
import { startLauncher } from "../../start-launcher.ts";

/** `drydock plan exec [PLAN] [options] -- COMMAND…` */
export function define(command: Command, context: CommandContext): void {
  command
    .usage("[options] [PLAN] -- COMMAND…")
    .argument("[PLAN...]", "id of the plan, the beginning of it, or its name; default: the only open plan");
  addCommandOptions(command, "where the command starts").action(
    async (given: readonly string[], options: CommandOptions) => {
      const inner = innerCommand(command, "drydock plan exec PLAN");
      const [plan, ...others] = argumentsBefore(given, inner);
      if (others.length > 0)
        throw new UsageError("Only one plan can be named.", { hint: "Write the command after '--'." });
      const cwd = givenFolder(context, options);
      const request = commandRequest(context, options);
      using _ = await startLauncher(context, request);
      const result = await openToChange(context, plan, async (drydock, _, interruption) => {
        using signals = new RunningSignals(interruption);
        return await drydock.exec(plan, {
          command: inner,
          ...(cwd !== undefined && { cwd }),
          ...request,
          onStart: (running) => signals.passTo(running),
        });
      });
      if (context.options.json) context.output.document(result);
      else if (!options.quiet) for (const line of scratchLines(result.scratch)) context.output.notice(line);
      context.exitWith(result.exitCode);
    },
  );
}
