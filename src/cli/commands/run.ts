import { type Command, Option } from "commander";
import { baseName } from "../../core/paths/byte-path.ts";
import type { Limits } from "../../core/values/limits.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import type { RunDecision, RunFinding } from "../../run/run-once.ts";
import { reportAttention } from "../apply-outcome.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { openToChange } from "../open-for-command.ts";
import { addAllowOption, askToAllow, canAsk } from "../options/allow-option.ts";
import { innerCommand } from "../options/inner-command.ts";
import { addLimitOption } from "../options/limit-option.ts";
import { addResourceOption, resourceRequests } from "../options/resource-requests.ts";
import { findingLines, outcomeLines } from "../render/plan/run-lines.ts";
import { RunningSignals } from "../running-signals.ts";
import { startLauncher } from "../start-launcher.ts";
import { ask } from "../terminal/question.ts";

interface RunOptions {
  readonly resource?: readonly string[];
  readonly name?: string;
  readonly apply?: boolean;
  readonly discard?: boolean;
  readonly keep?: boolean;
  readonly network?: boolean;
  readonly strict?: boolean;
  readonly limit?: Limits;
  readonly allowIrreversible?: boolean;
  readonly allow?: readonly string[];
}

/**
 * The current folder as a plain folder, also where it is a git checkout, because files that git ignores land
 * too. The name is cut to fit: any folder can be worked in.
 */
function currentFolder(cwd: string): ResourceRequest {
  const name = baseName(cwd).replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "_");
  return { location: ".", type: "fs-directory", ...(name.trim() !== "" && { name: name.slice(0, 100) }) };
}

/**
 * `drydock run [-r …]… [--name N] [--apply | --discard | --keep] [--no-network] [--strict] [--limit
 * NAME=VALUE]… [--allow-irreversible] [--allow PATTERN]… -- COMMAND…`
 */
export function define(command: Command, context: CommandContext): void {
  addLimitOption(addResourceOption(command.usage("[options] -- COMMAND…")))
    .argument("[COMMAND...]", "what to run")
    .option("--name <name>", "name of the plan")
    .addOption(
      new Option("--apply", "land the changes if the command succeeds").conflicts(["discard", "keep"]),
    )
    .addOption(new Option("--discard", "throw the changes away").conflicts(["apply", "keep"]))
    .addOption(
      new Option("--keep", "keep the changes as a plan (default without a terminal)").conflicts([
        "apply",
        "discard",
      ]),
    )
    .option("--no-network", "no network for the command")
    .option("--strict", "only the resources are writable, and daemons can't be reached")
    .option("--allow-irreversible", "allow resources whose changes can't be undone");
  addAllowOption(command).action(async (_: readonly string[], options: RunOptions) => {
    const inner = innerCommand(command, "drydock run");
    await run(context, inner, options);
  });
}

async function run(context: CommandContext, inner: readonly string[], options: RunOptions): Promise<void> {
  const {
    resource: given,
    name,
    network = true,
    strict = false,
    limit: limits = {},
    allowIrreversible = false,
  } = options;
  const { output } = context;
  const resources = given === undefined ? [currentFolder(context.cwd)] : resourceRequests(given, context.cwd);
  const stdout = context.options.json ? "stderr" : "inherit";
  using _ = await startLauncher(context, { network, stdout });
  await openToChange(context, undefined, async (drydock, signal, interruption) => {
    const atCommand = new DisposableStack();
    const outcome = await drydock.run({
      plan: { resources, ...(name === undefined ? {} : { name }), allowIrreversible },
      command: inner,
      ...(options.allow !== undefined && { allow: options.allow }),
      ...{ network, strict, limits, stdout },
      onStart: (running) => {
        atCommand.use(new RunningSignals(interruption)).passTo(running);
        // A signal came while the command started.
        if (signal.aborted) running.signal("SIGTERM");
      },
      decide: async (finding) => {
        atCommand.dispose();
        context.exitWith(finding.exitCode);
        if (!context.options.json)
          for (const line of findingLines(finding, output.errorStyles)) output.notice(line);
        return await decide(context, options, finding);
      },
      onKept: (planId) => {
        context.failedPlan = planId;
      },
    });
    atCommand.dispose();
    if (context.options.json) output.document(outcome);
    else for (const line of outcomeLines(outcome, options.apply === true)) output.notice(line);
    const isLeft = outcome.outcome === "kept" && options.apply === true;
    context.exitWith(isLeft && outcome.exitCode === 0 ? EXIT.failed : outcome.exitCode);
    if (outcome.apply !== undefined) reportAttention(context, outcome.apply);
  });
}

/** The outcome that the user chose by an option; at a terminal the user is asked. */
async function decide(
  context: CommandContext,
  options: RunOptions,
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
