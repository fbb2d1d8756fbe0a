import type { Command } from "commander";
import { UsageError } from "../../core/errors.ts";
import type { CommandContext } from "../command-context.ts";
import { argumentsBefore, innerCommand } from "../inner-command.ts";
import { scratchLines } from "../render/run-lines.ts";
import { RunningSignals } from "../running-signals.ts";
import { change } from "../session.ts";

interface ExecOptions {
  readonly network: boolean;
  readonly strict?: boolean;
}

/** `drydock plan exec [PLAN] [--no-network] [--strict] -- COMMAND…` */
export function definePlanExec(command: Command, context: CommandContext): void {
  command
    .usage("[options] [PLAN] -- COMMAND…")
    .argument("[PLAN...]", "id of the plan, the beginning of it, or its name; default: the only open plan")
    .option("--no-network", "without the network")
    .option("--strict", "only the resources are writable, and daemons can't be reached")
    .action(async (given: readonly string[], { network, strict = false }: ExecOptions) => {
      const inner = innerCommand(command, "drydock plan exec PLAN");
      const [plan, ...others] = argumentsBefore(given, inner);
      if (others.length > 0)
        throw new UsageError("Only one plan can be named.", { hint: "Write the command behind '--'." });
      const result = await change(context, plan, async (drydock, _, interruption) => {
        using signals = new RunningSignals(interruption);
        const stdout = context.options.json ? "stderr" : "inherit";
        return await drydock.exec(plan, {
          command: inner,
          network,
          strict,
          stdout,
          onStart: (running) => signals.passTo(running),
        });
      });
      if (context.options.json) context.output.document(result);
      else for (const line of scratchLines(result.scratch)) context.output.notice(line);
      context.exitWith(result.exitCode);
    });
}
