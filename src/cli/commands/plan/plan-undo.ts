import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { canAsk } from "../../options/allow-option.ts";
import { undoLines } from "../../render/plan/apply-lines.ts";
import { reportApply } from "../../render/plan/apply-outcome.ts";
import { ask } from "../../terminal/question.ts";

/** `drydock plan undo [PLAN]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument(
      "[PLAN]",
      "id of the plan, the beginning of it, or its name; default: the last one that landed here, after a question",
    )
    .option("--leave <resources...>", "leave these as they landed, because they can't be taken back")
    .action(async (given: string | undefined, { leave = [] }: { readonly leave?: readonly string[] }) => {
      const result = await openToChange(context, given, async (drydock) => {
        const plan = given ?? (await lastLanded(context, drydock));
        return plan === undefined ? undefined : await drydock.plans.undo(plan, { leave });
      });
      if (result === undefined) context.output.notice("Nothing was undone.");
      else reportApply(context, result, () => undoLines(result));
    });
}

/** The plan that landed last here, if the user says that it is the one. */
async function lastLanded(context: CommandContext, drydock: Services): Promise<string | undefined> {
  const { id, name, landedAt } = await drydock.plans.lastLandedIn(context.cwd);
  const which = `plan ${displayPath(name)} (${id}), which landed at ${landedAt}`;
  if (context.options.yes) return id;
  if (!canAsk(context))
    throw new UsageError(`No plan is named. The last one that landed here is ${which}.`, {
      hint: `Run 'drydock undo ${id}', or answer yes with -y.`,
    });
  const answer = (await ask(context, `Undo ${which}? [y/N] `))?.trim().toLowerCase() ?? "";
  return /^y(?:es)?$/.test(answer) ? id : undefined;
}
