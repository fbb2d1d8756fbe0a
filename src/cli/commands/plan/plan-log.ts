import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import type { CommandContext } from "../../command-context.ts";
import { Interruption } from "../../interruption.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { logLine, logLines } from "../../render/plan/log-lines.ts";
import { visibleJson } from "../../terminal/printable.ts";

interface LogOptions {
  readonly follow?: boolean;
  readonly after?: string;
}

/** `drydock plan log [PLAN] [--follow [--after CURSOR]]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option(
      "-f, --follow",
      "go on with what happens, until you interrupt it; with --json a line for each event",
    )
    .option("--after <cursor>", "with --follow: only what comes after this event, or after 'now'")
    .action(async (plan: string | undefined, { follow = false, after }: LogOptions) => {
      if (follow) return await followLog(context, plan, after);
      if (after !== undefined)
        throw new UsageError("--after belongs to --follow.", { hint: "Add --follow, or leave it out." });
      const log = await openToRead(context, (drydock) => drydock.log(plan));
      return context.result(log, () => logLines(log, context.output.styles));
    });
}

/** Shows the history, and goes on until the user interrupts it or nobody reads it any more. */
async function followLog(
  context: CommandContext,
  plan: string | undefined,
  after: string | undefined,
): Promise<void> {
  const { output, options } = context;
  using interruption = new Interruption(() => undefined);
  const { signal } = interruption;
  await openToRead(context, async (drydock) => {
    const { id } = await drydock.plans.find(plan);
    const wanted = { plan: id, signal, ...(after !== undefined && { after }) };
    for await (const event of await drydock.events(wanted)) {
      if (options.json) output.write(`${jsonLine(event, output.terminal.interactive)}\n`);
      else output.lines([logLine(event, output.styles)]);
      if (output.failure !== undefined) return;
    }
  });
}

function jsonLine(event: object, isTerminal: boolean): string {
  const json = JSON.stringify(event);
  return isTerminal ? visibleJson(json) : json;
}
