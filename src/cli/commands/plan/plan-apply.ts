import { type Command, Option } from "commander";
import type { ApplyOptions, ApplyResult } from "../../../plans/landing-views.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addAllowOption, askToAllow, canAsk, nameFiles, refusedFor } from "../../options/allow-option.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { applyLines } from "../../render/plan/apply-lines.ts";
import { reportApply } from "../../render/plan/apply-outcome.ts";

/**
 * `drydock plan apply [PLAN] [-m MESSAGE] [--squash] [--only [RESOURCE:]PATTERN…]
 * [--allow [RESOURCE:]PATTERN]… [--digest D] [--approved] [--approved-part] [--update] [--check COMMAND]…
 * [--no-checks] [--interactive [--tool COMMAND]] [--dry-run] [--allow-irreversible] [--after-restart]`
 */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("-m, --message <text>", "the reason: recorded with the plan, and the message of its commits")
    .option("--squash", "in git checkouts, land one commit in place of those made inside")
    .option(
      "--only <paths...>",
      "land only these paths ([RESOURCE:]PATTERN, with * and **); the rest stays in the plan",
    )
    .option("--digest <digest>", "land only exactly what 'plan diff' showed with this digest")
    .option("--approved", "land only exactly what was approved ('drydock approve')")
    .option("--approved-part", "land exactly the changes and hunks that votes approve; the rest stays")
    .option("--update", "first bring what others changed meanwhile into the plan, as 'plan update' does")
    .option(
      "--check <command>",
      "a command that must succeed inside the sandboxes first, beside the checks of the config, repeatable",
      (given: string, before: readonly string[] | undefined) => [...(before ?? []), given],
    )
    .option("--no-checks", "do not run the checks of the config")
    .addOption(
      new Option(
        "-i, --interactive",
        "land what comes back from your diff editor; the rest stays in the plan",
      ).conflicts(["approved", "approvedPart", "squash"]),
    )
    .option(
      "--tool <command>",
      "the diff editor: gets two folders, as $left and $right; implies --interactive",
    )
    .option("--dry-run", "do everything up to the decision, then take it back")
    .option("--allow-irreversible", "also land what can't be undone")
    .option("--after-restart", "land although the machine was restarted and work may be missing");
  addAllowOption(command).action(async (plan: string | undefined, options: ApplyCommandOptions) => {
    const { message, squash = false, digest, only, allow, approved = false, dryRun = false } = options;
    const { check, checks = true, allowIrreversible = false, afterRestart = false, update = false } = options;
    const { approvedPart = false, tool, interactive = tool !== undefined } = options;
    const result = await apply(
      context,
      plan,
      { isInteractive: interactive, tool },
      {
        ...(message === undefined ? {} : { message }),
        ...(digest === undefined ? {} : { digest }),
        ...(only === undefined ? {} : { only: only.map(unescapePath) }),
        ...(allow === undefined ? {} : { allow }),
        ...(check === undefined ? {} : { check }),
        ...{ checks, squash, approved, approvedPart, dryRun, allowIrreversible, afterRestart, update },
      },
    );
    const isWhole = only === undefined && !approvedPart && !interactive;
    reportApply(context, result, () => applyLines(result, { dryRun, isWhole }));
  });
}

interface ApplyCommandOptions extends ApplyOptions {
  readonly interactive?: boolean;
  readonly tool?: string;
}

/** Whether and by which diff editor the user chooses what lands. */
interface Choice {
  readonly isInteractive: boolean;
  readonly tool: string | undefined;
}

/** Applies. At a terminal, asks for the user's word where it is missing and tries once more. */
async function apply(
  context: CommandContext,
  plan: string | undefined,
  { isInteractive, tool }: Choice,
  given: ApplyOptions,
): Promise<ApplyResult> {
  return await openToChange(context, plan, async (drydock, _, interruption) => {
    const options = isInteractive
      ? {
          ...given,
          editor: (await import("../../terminal/diff-editor.ts")).diffEditor(context, interruption, tool),
        }
      : given;
    try {
      return await drydock.plans.apply(plan, options);
    } catch (thrown) {
      const files = refusedFor(thrown);
      // What came from a diff editor is not asked for again.
      if (files.length === 0 || isInteractive || !canAsk(context)) throw thrown;
      await nameFiles(context, files);
      const word = await askToAllow(context, files);
      if (word === undefined) throw thrown;
      return await drydock.plans.apply(plan, { ...options, allow: [...(options.allow ?? []), ...word] });
    }
  });
}
