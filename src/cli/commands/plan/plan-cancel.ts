import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { CommandContext } from "../../command-context.ts";
import { EXIT } from "../../exit-codes.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { landedLines } from "../../render/plan/run-lines.ts";
import { oneLine } from "../../terminal/printable.ts";

/** `drydock plan cancel [PLAN] [--force]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).option("--force", "also end the detached command that runs in it");
  command.action(async (name: string | undefined, { force = false }: { readonly force?: boolean }) => {
    const plan = await openToChange(context, name, ({ detached }) => detached.cancel(name, { force }), {
      makesRoom: true,
    });
    const left = plan.left ?? [];
    if (left.length > 0) context.exitWith(EXIT.attention);
    if (!context.options.json) for (const warning of plan.warnings ?? []) context.output.warning(warning);
    context.result(plan, () => [
      `Cancelled plan ${displayPath(plan.name)} (${plan.id}).`,
      ...(plan.state === "applied" ? landedLines(plan.id) : []),
      ...left.map(({ resource, message, places }) =>
        oneLine(
          `not removed: the sandbox of ${displayPath(resource)}: ${message}${places.length === 0 ? "" : `; left: ${places.map(displayPath).join(", ")}`}`,
        ),
      ),
    ]);
  });
}
