import { type Command, Option } from "commander";
import type { AbandonReport } from "../../commit/cleanup/abandonment.ts";
import type { RecoveryReport } from "../../commit/recovery.ts";
import { UsageError } from "../../core/errors/errors.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { openToChange } from "../open-for-command.ts";
import { abandonLines } from "../render/machine/abandon-lines.ts";
import { recoveryLines } from "../render/machine/recovery-lines.ts";
import { attentionLine } from "../render/plan/attention-line.ts";

interface RecoverOptions {
  readonly commit?: boolean;
  readonly abort?: boolean;
  readonly abandon?: boolean;
}

/** `drydock recover [PLAN --commit | --abort | --abandon]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("[PLAN]", "a plan that is in doubt, or can't be settled")
    .addOption(
      new Option("--commit", "what is in doubt did land: finish the rest").conflicts(["abort", "abandon"]),
    )
    .addOption(
      new Option("--abort", "what is in doubt did not land: take the rest back").conflicts("abandon"),
    )
    .addOption(new Option("--abandon", "end the plan as it is, and list what may remain of it"))
    .action(async (plan: string | undefined, options: RecoverOptions) => {
      const how = decision(plan, options);
      await openToChange(
        context,
        plan,
        async (drydock) => {
          if (plan === undefined || how === undefined)
            print(context, drydock.recovery, await drydock.recover());
          else if (how === "abandon") printAbandoned(context, await drydock.abandon(plan));
          else print(context, drydock.recovery, await drydock.settle(plan, how));
        },
        { makesRoom: true },
      );
    });
}

type Decision = "commit" | "abort" | "abandon";

function decision(
  plan: string | undefined,
  { commit, abort, abandon }: RecoverOptions,
): Decision | undefined {
  const how = commit ? "commit" : abort ? "abort" : abandon ? "abandon" : undefined;
  if (plan === undefined && how !== undefined) {
    throw new UsageError(`A plan is missing for --${how}.`, {
      hint: `Name it: drydock recover PLAN --${how}`,
    });
  }
  if (plan !== undefined && how === undefined) {
    throw new UsageError("The decision for the plan is missing.", {
      hint: "Add --commit if what is in doubt did land, --abort if it did not, or --abandon to end the plan as it is.",
    });
  }
  return how;
}

/**
 * Opening the state recovers already, so its report is part of the answer. Pending plans are those that are
 * pending now.
 */
function print(context: CommandContext, opening: RecoveryReport, now: RecoveryReport): void {
  const { output } = context;
  const report: RecoveryReport = {
    finished: [...opening.finished, ...now.finished],
    undone: [...opening.undone, ...now.undone],
    cleaned: [...opening.cleaned, ...now.cleaned],
    pending: now.pending,
  };
  context.result(report, () => recoveryLines(report, output.styles));
  for (const attention of attentionIn(now)) output.notice(attentionLine(attention, output.errorStyles));
  if (attentionIn(report).length > 0 || report.pending.length > 0) context.exitWith(EXIT.attention);
}

/** Remaining places, and landings of a plan that did not land as a whole, need a person's attention. */
function printAbandoned(context: CommandContext, report: AbandonReport): void {
  context.result(report, () => abandonLines(report));
  const isClean = report.resources.every(
    ({ original, left }) => original === "untouched" && left.length === 0,
  );
  if (!isClean) context.exitWith(EXIT.attention);
}

function attentionIn({
  finished,
  undone,
  pending,
}: RecoveryReport): RecoveryReport["finished"][number]["attention"] {
  return [...finished, ...undone, ...pending].flatMap((plan) => plan.attention);
}
