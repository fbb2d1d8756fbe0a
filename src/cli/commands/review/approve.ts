import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import type { PlanDiff } from "../../../plans/plan-views.ts";
import type { Approval, ApproveOptions } from "../../../plans/review/approval-views.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addAllowOption, askToAllow, canAsk } from "../../options/allow-option.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { ChangeList, linesOf } from "../../render/diff/diff-lines.ts";
import { ask } from "../../terminal/question.ts";

/** `drydock approve [PLAN] [--digest D] [--allow PATTERN]…` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).option(
    "--digest <digest>",
    "approve exactly what 'plan diff' showed with this digest",
  );
  addAllowOption(command).action(async (plan: string | undefined, options: Partial<ApproveOptions>) => {
    const approval = await openToChange(context, plan, (drydock) => approve(context, drydock, plan, options));
    if (approval !== undefined) context.result(approval, () => approvalLines(approval));
  });
}

async function approve(
  context: CommandContext,
  drydock: Services,
  plan: string | undefined,
  { digest, allow = [] }: Partial<ApproveOptions>,
): Promise<Approval | undefined> {
  if (digest !== undefined) return await drydock.plans.approve(plan, { digest, allow, via: "command line" });
  if (!canAsk(context))
    throw new UsageError("Without a terminal, an approval needs the digest of what was looked at.", {
      hint: "Give --digest with the digest that 'drydock plan diff' shows.",
    });
  const diff = await drydock.plans.diff(plan, { allow });
  const word = await askFor(context, diff);
  if (word === undefined) {
    context.exitWith(1);
    context.output.notice("Not approved.");
    return undefined;
  }
  return await drydock.plans.approve(diff.planId, {
    digest: diff.digest,
    allow: [...allow, ...word],
    via: "terminal",
  });
}

/**
 * Shows the diff and asks. The answer is the patterns of self-running files that the user allows, or nothing
 * if the user does not approve. `-y` does not count: it answers questions that the user has not read.
 */
async function askFor(context: CommandContext, diff: PlanDiff): Promise<readonly string[] | undefined> {
  const { output } = context;
  for (const line of linesOf(diff, new ChangeList(output.errorStyles))) output.notice(line);
  const answer = (await ask(context, "Approve exactly these changes? [y/N] "))?.trim().toLowerCase() ?? "";
  if (!/^y(?:es)?$/.test(answer)) return undefined;
  const files = diff.selfRunning.filter(({ needsWord }) => needsWord);
  return files.length === 0 ? [] : await askToAllow(context, files);
}

function* approvalLines({ planId, digest }: Approval): Generator<string> {
  yield `Approved ${planId} with digest ${digest}.`;
  yield `It lands with: drydock plan apply ${planId} --approved`;
}
