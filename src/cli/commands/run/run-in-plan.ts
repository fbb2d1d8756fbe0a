import { type Command, Option } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import { baseName, displayPath } from "../../../core/paths/byte-path.ts";
import type { ResourceRequest } from "../../../plans/plan-views.ts";
import type { ExplainRunRequest } from "../../../run/policy/explain.ts";
import type { RunFinding, RunOutcome, RunRequest } from "../../../run/run-once.ts";
import type { CommandContext } from "../../command-context.ts";
import { EXIT } from "../../exit-codes.ts";
import { openToChange } from "../../open-for-command.ts";
import { addAllowOption } from "../../options/allow-option.ts";
import { checkoutAround } from "../../options/checkout-around.ts";
import { addCommandOptions, commandRequest, givenFolder } from "../../options/command-options.ts";
import { addLabelOption } from "../../options/label-option.ts";
import { addAddOption, addResourceOption, resourceRequests } from "../../options/resource-requests.ts";
import { explainLines } from "../../render/explain-lines.ts";
import { reportAttention } from "../../render/plan/apply-outcome.ts";
import { findingLines, outcomeLines } from "../../render/plan/run-lines.ts";
import { RunningSignals } from "../../running-signals.ts";
import { startLauncher } from "../../start-launcher.ts";
import { decide } from "./decision.ts";
import type { RunOptions, Talk } from "./run-options.ts";
import { startDetached } from "./start-detached.ts";

export function addRunOptions(command: Command): Command {
  addLabelOption(addAddOption(addResourceOption(command)))
    .option("--name <name>", "name of the plan")
    .addOption(
      new Option("--apply", "land the changes if the command succeeds").conflicts(["discard", "keep"]),
    )
    .option("-m, --message <text>", "the reason: recorded with the plan, and the message of its commits")
    .option("--squash", "in git checkouts, land one commit in place of those made inside")
    .option("--ignore-outside", "with --apply: land even if the command wrote files outside of the plan too")
    .addOption(new Option("--discard", "throw the changes away").conflicts(["apply", "keep"]))
    .addOption(
      new Option("--keep", "keep the changes as a plan (default without a terminal)").conflicts([
        "apply",
        "discard",
      ]),
    );
  addCommandOptions(command, "work as if started in this folder")
    .option("--detach", "leave the command running; 'drydock attach' shows its terminal")
    .option("--explain", "say what the command would be allowed, and why; run nothing")
    .option("--stat <lines>", "how many lines of changes to show at most; default: 30", parseLines)
    .option("--allow-irreversible", "allow resources whose changes can't be undone");
  return addAllowOption(command);
}

function parseLines(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`'${displayPath(text)}' is not a number of lines.`, { hint: "Write --stat 100." });
}

/**
 * The current folder, or the git checkout that it is in: git works only with the whole of it. The name is cut
 * to fit: any folder can be worked in.
 */
function currentFolder(cwd: string, home: string | undefined): ResourceRequest {
  const top = checkoutAround(cwd, home);
  const name = baseName(top ?? cwd).replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "_");
  return {
    location: top ?? ".",
    ...(top === undefined && { type: "fs-directory" }),
    ...(name.trim() !== "" && { name: name.slice(0, 100) }),
  };
}

/**
 * Makes a plan, runs a command inside, and lands, keeps or throws away its changes.
 */
export async function runInPlan(
  context: CommandContext,
  inner: readonly string[],
  options: RunOptions,
  talking?: Talk,
): Promise<void> {
  const { resource: given, name, label: labels, allow, allowIrreversible = false } = options;
  const { message, squash = false } = options;
  if (options.detach === true && options.explain !== true && talking === undefined)
    return await startDetached(context, { inner, run: options });
  const folder = givenFolder(context, options);
  if (folder !== undefined) await context.enter(folder);
  const first =
    given === undefined
      ? [currentFolder(context.cwd, context.environment["HOME"])]
      : resourceRequests(given, context.cwd);
  const resources = [...first, ...resourceRequests(options.add ?? [], context.cwd)];
  const request = commandRequest(context, options);
  if (options.explain === true) return await explainRun(context, { resources, command: inner, ...request });
  using _ = talking === undefined ? await startLauncher(context, request) : undefined;
  await openToChange(context, undefined, async (drydock, signal, interruption) => {
    const atCommand = new DisposableStack();
    const run: RunRequest = {
      plan: {
        resources,
        ...(name === undefined ? {} : { name }),
        ...(labels === undefined ? {} : { labels }),
        allowIrreversible,
      },
      command: inner,
      ...(folder !== undefined && { cwd: context.cwd }),
      ...(allow !== undefined && { allow }),
      ...(message !== undefined && { message }),
      squash,
      ...request,
      ...(talking !== undefined && { talk: (command) => talking.talk(command, drydock) }),
      ...(talking?.signal !== undefined && { signal: talking.signal }),
      onStart: (running) => {
        atCommand.use(new RunningSignals(interruption)).passTo(running);
        // A signal came while the command started.
        if (signal.aborted) running.signal("SIGTERM");
      },
      decide: async (finding) => {
        atCommand.dispose();
        context.exitWith(finding.exitCode);
        tellFinding(context, options, finding);
        return await decide({ context, drydock, interruption }, options, finding);
      },
      onKept: (planId) => {
        context.failedPlan = planId;
      },
    };
    const outcome = await drydock.run(run, {
      ...(talking?.detached !== undefined && { detached: talking.detached }),
    });
    atCommand.dispose();
    tellOutcome(context, options, outcome);
  });
}

async function explainRun(context: CommandContext, request: ExplainRunRequest): Promise<void> {
  const explained = await openToChange(context, undefined, (drydock) => drydock.explain(request));
  if (context.options.json) context.output.document(explained);
  else context.output.lines(explainLines(explained, context.environment["HOME"]));
}

function tellFinding(
  { output, options: { json }, environment }: CommandContext,
  { quiet, stat }: RunOptions,
  finding: RunFinding,
): void {
  if (json || quiet) return;
  for (const line of findingLines(finding, output.errorStyles, {
    home: environment["HOME"],
    mostLines: stat,
  }))
    output.notice(line);
}

function tellOutcome(context: CommandContext, { apply, quiet }: RunOptions, outcome: RunOutcome): void {
  const { output, options, environment } = context;
  const { json } = options;
  const wanted = apply === true;
  const lines = outcomeLines(outcome, { wanted, home: environment["HOME"] });
  const isKept = outcome.outcome === "kept";
  if (json) output.document(outcome);
  else if (!quiet) for (const line of lines) output.notice(line);
  // A quiet run must not hide where the work is.
  else if (isKept) output.notice(lines[0] ?? "");
  context.exitWith(isKept && wanted && outcome.exitCode === 0 ? EXIT.failed : outcome.exitCode);
  if (outcome.apply !== undefined) reportAttention(context, outcome.apply);
}
