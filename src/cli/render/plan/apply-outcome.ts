import type { ApplyResult } from "../../../plans/landing-views.ts";
import type { CommandContext } from "../../command-context.ts";
import { EXIT } from "../../exit-codes.ts";
import { attentionLine } from "./attention-line.ts";

/** Prints the result of an apply or undo, and the points that need attention. */
export function reportApply(
  context: CommandContext,
  result: ApplyResult,
  lines: () => Iterable<string>,
): void {
  context.result(result, lines);
  reportAttention(context, result);
}

/** Prints what a person has to look at although it landed. */
export function reportAttention(context: CommandContext, result: ApplyResult): void {
  if (!context.options.json) {
    for (const warning of result.warnings) context.output.warning(warning);
    for (const attention of result.attention) {
      context.output.notice(attentionLine(attention, context.output.errorStyles));
    }
  }
  if (result.attention.length > 0) context.exitWith(EXIT.attention);
}
