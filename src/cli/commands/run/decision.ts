import { mayLand, type RunDecision, type RunFinding } from "../../../run/run-once.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { errorLines } from "../../error-report.ts";
import type { Interruption } from "../../interruption.ts";
import { askToAllow, canAsk, nameFiles, refusedFor } from "../../options/allow-option.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { terminalPatch } from "../../render/diff/patch-line.ts";
import { ask } from "../../terminal/question.ts";

/** The options that say what becomes of the changes. */
export interface EndOptions {
  readonly apply?: boolean;
  readonly discard?: boolean;
  readonly keep?: boolean;
  /** Changes land even if what else the command wrote, outside of the plan, goes with that. */
  readonly ignoreOutside?: boolean;
}

/** What a decision needs: the user's terminal and the plan. */
export interface DecisionParts {
  readonly context: CommandContext;
  readonly drydock: Services;
  readonly interruption: Interruption;
}

/** The outcome that the user chose by an option; at a terminal the user is asked. */
export async function decide(
  parts: DecisionParts,
  options: EndOptions,
  finding: RunFinding,
): Promise<RunDecision> {
  const { context } = parts;
  const { json, yes } = context.options;
  if (options.discard) return "discard";
  if (options.apply || (yes && !options.keep && !json))
    return mayLand(finding, options) ? await withWord(context, finding, "apply") : "keep";
  if (options.keep || !canAsk(context)) return "keep";
  return await askUser(parts, finding);
}

/** Asks until the answer is a decision. */
async function askUser(parts: DecisionParts, finding: RunFinding): Promise<RunDecision> {
  for (;;) {
    const answer = await ask(
      parts.context,
      "Apply, keep or discard? Or view, or pick paths to apply? [a/K/d/v/p] ",
    );
    switch (answer?.trim().toLowerCase()) {
      case "a":
      case "apply":
        return await withWord(parts.context, finding, "keep");
      case "d":
      case "discard":
        return "discard";
      case "v":
      case "view":
        await view(parts, finding);
        break;
      case "p":
      case "pick": {
        const picked = await pick(parts, finding);
        if (picked !== undefined) return picked;
        break;
      }
      default:
        return "keep";
    }
  }
}

/** Shows the changes in the user's pager. Ctrl-C there is the pager's. */
async function view(
  { context, drydock, interruption }: DecisionParts,
  { planId }: RunFinding,
): Promise<void> {
  using _ = interruption.handOver(() => undefined);
  const { output, environment } = context;
  const { page, pagerIn, PAGER_HINT } = await import("../../terminal/pager.ts");
  const { errorStyles } = output;
  async function* text(): AsyncGenerator<string> {
    for await (const part of drydock.plans.patch(planId, { onlyText: true }))
      yield terminalPatch(part, errorStyles);
  }
  // The user asked to view them, so a pager that only prints is one too.
  const command = pagerIn(environment) ?? "cat";
  if (!(await page({ command, environment, stream: 2 }, text())))
    output.warning(`There is no pager '${command}'. ${PAGER_HINT}`);
}

/** Asks for the paths to land, and tries whether they can. */
async function pick(
  { context, drydock }: DecisionParts,
  { planId, diff: { digest } }: RunFinding,
): Promise<RunDecision | undefined> {
  const answer = await ask(
    context,
    "Paths or patterns to apply, with spaces between; the rest stays in the plan: ",
  );
  const only = wordsOf(answer ?? "").map(unescapePath);
  if (only.length === 0) return undefined;
  try {
    await drydock.plans.apply(planId, { only, digest, dryRun: true });
    return { apply: { only } };
  } catch (thrown) {
    const files = refusedFor(thrown);
    if (files.length === 0) {
      for (const line of errorLines(thrown, context.output.errorStyles)) context.output.notice(line);
      return undefined;
    }
    await nameFiles(context, files);
    const allow = await askToAllow(context, files);
    return allow === undefined ? undefined : { apply: { only, allow } };
  }
}

/** The words of a line; quotes keep a word with spaces together. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, one, two, three]) => one ?? two ?? three ?? "",
  );
}

/** Asks at a terminal for the user's word on self-running files, before the apply would refuse them. */
async function withWord(
  context: CommandContext,
  { diff }: RunFinding,
  without: RunDecision,
): Promise<RunDecision> {
  const waiting = diff.selfRunning.filter(({ needsWord }) => needsWord);
  if (waiting.length === 0 || !canAsk(context)) return "apply";
  const allow = await askToAllow(context, waiting);
  return allow === undefined ? without : { apply: { allow } };
}
