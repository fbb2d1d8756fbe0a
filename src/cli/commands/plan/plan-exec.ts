import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import type { Limits } from "../../../core/values/limits.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { argumentsBefore, innerCommand } from "../../options/inner-command.ts";
import { addLimitOption } from "../../options/limit-option.ts";
import { scratchLines } from "../../render/plan/run-lines.ts";
import { RunningSignals } from "../../running-signals.ts";
import { startLauncher } from "../../start-launcher.ts";

interface ExecOptions {
  readonly network?: boolean;
  readonly strict?: boolean;
  readonly limit?: Limits;
}

/** `drydock plan exec [PLAN] [--no-network] [--strict] [--limit NAME=VALUE]… -- COMMAND…` */
export function define(command: Command, context: CommandContext): void {
  addLimitOption(command.usage("[options] [PLAN] -- COMMAND…"))
    .argument("[PLAN...]", "id of the plan, the beginning of it, or its name; default: the only open plan")
    .option("--no-network", "no network for the command")
    .option("--strict", "only the resources are writable, and daemons can't be reached")
    .action(
      async (
        given: readonly string[],
        { network = true, strict = false, limit: limits = {} }: ExecOptions,
      ) => {
        const inner = innerCommand(command, "drydock plan exec PLAN");
        const [plan, ...others] = argumentsBefore(given, inner);
        if (others.length > 0)
          throw new UsageError("Only one plan can be named.", { hint: "Write the command after '--'." });
        const stdout = context.options.json ? "stderr" : "inherit";
        using _ = await startLauncher(context, { network, stdout });
        const result = await openToChange(context, plan, async (drydock, _, interruption) => {
          using signals = new RunningSignals(interruption);
          return await drydock.exec(plan, {
            command: inner,
            ...{ network, strict, limits, stdout },
            onStart: (running) => signals.passTo(running),
          });
        });
        if (context.options.json) context.output.document(result);
        else for (const line of scratchLines(result.scratch)) context.output.notice(line);
        context.exitWith(result.exitCode);
      },
    );
}
