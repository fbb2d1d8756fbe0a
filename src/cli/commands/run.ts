import { type Command, Option } from "commander";
import { baseName } from "../../core/byte-path.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import type { RunDecision, RunFinding } from "../../run/run-once.ts";
import { inputIsTerminal } from "../../system/terminal-input.ts";
import { reportAttention } from "../apply-outcome.ts";
import type { CommandContext } from "../command-context.ts";
import { innerCommand } from "../inner-command.ts";
import { ask } from "../question.ts";
import { findingLines, outcomeLines } from "../render/run-lines.ts";
import { addResourceOption, resourceRequests } from "../resource-requests.ts";
import { RunningSignals } from "../running-signals.ts";
import { change } from "../session.ts";

interface RunOptions {
  readonly resource?: readonly string[];
  readonly name?: string;
  readonly apply?: boolean;
  readonly discard?: boolean;
  readonly keep?: boolean;
  readonly network: boolean;
  readonly strict?: boolean;
  readonly allowIrreversible?: boolean;
}

/** A plain folder, also where it is a git checkout: what git ignores is to land too. Whatever it is called, one can work in it. */
function currentFolder(cwd: string): ResourceRequest {
  const name = baseName(cwd).replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "_");
  return { location: ".", type: "fs-directory", ...(name.trim() !== "" && { name: name.slice(0, 100) }) };
}

/** `drydock run [-r …]… [--name N] [--apply | --discard | --keep] [--no-network] [--strict] [--allow-irreversible] -- COMMAND…` */
export function defineRun(command: Command, context: CommandContext): void {
  addResourceOption(command.usage("[options] -- COMMAND…"))
    .argument("[COMMAND...]", "what to run")
    .option("--name <name>", "what the plan is called")
    .addOption(new Option("--apply", "land the changes if the command succeeds").conflicts(["discard", "keep"]))
    .addOption(new Option("--discard", "throw the changes away").conflicts(["apply", "keep"]))
    .addOption(
      new Option("--keep", "keep the changes as a plan (default without a terminal)").conflicts(["apply", "discard"]),
    )
    .option("--no-network", "without the network")
    .option("--strict", "only the resources are writable, and daemons can't be reached")
    .option("--allow-irreversible", "the plan may hold what can't be undone")
    .action(async (_: readonly string[], options: RunOptions) => {
      const inner = innerCommand(command, "drydock run");
      await run(context, inner, options);
    });
}

async function run(context: CommandContext, inner: readonly string[], options: RunOptions): Promise<void> {
  const { resource: given, name, network, strict = false, allowIrreversible = false } = options;
  const { output } = context;
  const resources = given === undefined ? [currentFolder(context.cwd)] : resourceRequests(given, context.cwd);
  await change(context, undefined, async (drydock, signal, interruption) => {
    const atCommand = new DisposableStack();
    const outcome = await drydock.run({
      plan: { resources, ...(name === undefined ? {} : { name }), allowIrreversible },
      command: inner,
      network,
      strict,
      stdout: context.options.json ? "stderr" : "inherit",
      onStart: (running) => {
        atCommand.use(new RunningSignals(interruption)).passTo(running);
        // It came while the command was being started.
        if (signal.aborted) running.signal("SIGTERM");
      },
      decide: async (finding) => {
        atCommand.dispose();
        context.exitWith(finding.exitCode);
        if (!context.options.json) for (const line of findingLines(finding, output.errorStyles)) output.notice(line);
        return await decide(context, options, finding);
      },
      onKept: (planId) => {
        context.failedPlan = planId;
      },
    });
    atCommand.dispose();
    if (context.options.json) output.document(outcome);
    else for (const line of outcomeLines(outcome, options.apply === true)) output.notice(line);
    context.exitWith(outcome.exitCode);
    if (outcome.apply !== undefined) reportAttention(context, outcome.apply);
  });
}

/** What was asked for; at a terminal it is asked. */
async function decide(
  { output, options: { json, yes } }: CommandContext,
  options: RunOptions,
  { exitCode }: RunFinding,
): Promise<RunDecision> {
  if (options.discard) return "discard";
  if (options.apply) return exitCode === 0 ? "apply" : "keep";
  if (options.keep || json) return "keep";
  if (yes) return exitCode === 0 ? "apply" : "keep";
  if (!output.terminal.progress || !inputIsTerminal()) return "keep";
  const answer = (await ask("Apply, keep or discard? [a/K/d] "))?.trim().toLowerCase() ?? "";
  if (/^a(?:pply)?$/.test(answer)) return "apply";
  return /^d(?:iscard)?$/.test(answer) ? "discard" : "keep";
}
