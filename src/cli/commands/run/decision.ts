import type { RunDecision, RunFinding } from "../../../run/run-once.ts";
import type { CommandContext } from "../../command-context.ts";
import { askToAllow, canAsk } from "../../options/allow-option.ts";
import { ask } from "../../terminal/question.ts";

/** The options that say what becomes of the changes. */
export interface EndOptions {
  readonly apply?: boolean;
  readonly discard?: boolean;
  readonly keep?: boolean;
}

/** The outcome that the user chose by an option; at a terminal the user is asked. */
export async function decide(
  context: CommandContext,
  options: EndOptions,
  finding: RunFinding,
): Promise<RunDecision> {
  const { json, yes } = context.options;
  if (options.discard) return "discard";
  if (options.apply || (yes && !options.keep && !json))
    return hasSucceeded(finding) ? await withWord(context, finding, "apply") : "keep";
  if (options.keep || !canAsk(context)) return "keep";
  const answer = (await ask("Apply, keep or discard? [a/K/d] "))?.trim().toLowerCase() ?? "";
  if (/^a(?:pply)?$/.test(answer)) return await withWord(context, finding, "keep");
  return /^d(?:iscard)?$/.test(answer) ? "discard" : "keep";
}

/** Asks at a terminal for the user's word on self-running files, before the apply would refuse them. */
async function withWord(
  context: CommandContext,
  { diff }: RunFinding,
  without: RunDecision,
): Promise<RunDecision> {
  const waiting = diff.selfRunning.filter(({ needsWord }) => needsWord);
  if (waiting.length === 0 || !canAsk(context)) return "apply";
  const allow = await askToAllow(waiting);
  return allow === undefined ? without : { apply: { allow } };
}

/** A command that met a limit may have missed that and ended with 0. */
function hasSucceeded({ exitCode, limit }: RunFinding): boolean {
  return exitCode === 0 && limit === undefined;
}
