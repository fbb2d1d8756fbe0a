import { type Command, Option } from "commander";
import type { RecoveryReport } from "../../commit/recovery.ts";
import { UsageError } from "../../core/errors.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { attentionLine } from "../render/attention-line.ts";
import { recoveryLines } from "../render/recovery-lines.ts";
import { change } from "../session.ts";

interface RecoverOptions {
  readonly commit?: boolean;
  readonly abort?: boolean;
}

/** `drydock recover [PLAN --commit | --abort]` */
export function defineRecover(command: Command, context: CommandContext): void {
  command
    .argument("[PLAN]", "a plan that is in doubt")
    .addOption(new Option("--commit", "what is in doubt did land: finish the rest").conflicts("abort"))
    .addOption(new Option("--abort", "what is in doubt did not land: take the rest back"))
    .action(async (plan: string | undefined, options: RecoverOptions) => {
      const how = decision(plan, options);
      await change(context, plan, async (drydock) => {
        const now = plan === undefined || how === undefined ? await drydock.recover() : await drydock.settle(plan, how);
        print(context, drydock.recovery, now);
      });
    });
}

function decision(plan: string | undefined, { commit, abort }: RecoverOptions): "commit" | "abort" | undefined {
  const how = commit ? "commit" : abort ? "abort" : undefined;
  if (plan === undefined && how !== undefined) {
    throw new UsageError(`A plan is missing for --${how}.`, { hint: `Name it: drydock recover PLAN --${how}` });
  }
  if (plan !== undefined && how === undefined) {
    throw new UsageError("It is missing how the plan is to be settled.", {
      hint: "Add --commit if what is in doubt did land, or --abort if it did not.",
    });
  }
  return how;
}

/** Opening the state already recovers, so what that did is part of the answer. What is pending is what is still pending now. */
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

function attentionIn({ finished, undone, pending }: RecoveryReport): RecoveryReport["finished"][number]["attention"] {
  return [...finished, ...undone, ...pending].flatMap((plan) => plan.attention);
}
