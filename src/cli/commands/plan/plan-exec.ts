import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Command } from "commander";
import { parseSize } from "../../../config/size.ts";
import { UsageError } from "../../../core/errors/errors.ts";
import type { HostCommand } from "../../../fleet/remote/remote-command.ts";
import { fleetOf } from "../../../plans/resources/fleet-of.ts";
import { captureDocument, captureOutput } from "../../../run/capture.ts";
import type { ExecRequest, ExecResult } from "../../../run/exec.ts";
import { inputIsTerminal } from "../../../system/terminal/standard-stream.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import {
  addCommandOptions,
  commandRequest,
  givenFolder,
  type RequestOptions,
} from "../../options/command-options.ts";
import { argumentsBefore, innerCommand } from "../../options/inner-command.ts";
import { addAddOption, resourceRequests } from "../../options/resource-requests.ts";
import { scratchLines } from "../../render/plan/outside-lines.ts";
import { RunningSignals } from "../../running-signals.ts";
import { startLauncher } from "../../start-launcher.ts";
import type { ExecOptions, Talk } from "../run/run-options.ts";
import { startDetached } from "../run/start-detached.ts";

/** `drydock plan exec [PLAN] [options] -- COMMAND…` */
export function define(command: Command, context: CommandContext): void {
  command
    .usage("[options] [PLAN] -- COMMAND…")
    .argument("[PLAN...]", "id of the plan, the beginning of it, or its name; default: the only open plan")
    .option("--max-output <size>", "with --json: how much to keep of each output (default: 1m)", parseSize)
    .option("--on <host>", "run it on this host of the fleet, inside what the plan has there")
    .option("--detach", "leave the command running; 'drydock attach' shows its terminal");
  addAddOption(addCommandOptions(command, "where the command starts")).action(
    async (given: readonly string[], options: ExecOptions) => {
      const inner = innerCommand(command, "drydock plan exec PLAN");
      const [plan, ...others] = argumentsBefore(given, inner);
      if (others.length > 0)
        throw new UsageError("Only one plan can be named.", { hint: "Write the command after '--'." });
      if (options.on !== undefined) return await execOn(context, plan, options.on, { inner, options });
      if (options.detach === true)
        return await startDetached(context, { inner, exec: options, ...(plan !== undefined && { plan }) });
      const request = await execRequest(context, plan, inner, options);
      const result = context.options.json
        ? await captured(context, plan, request, options.maxOutput)
        : await shown(context, plan, request);
      tellScratch(context, options, result);
      context.exitWith(result.exitCode);
    },
  );
}

/**
 * Runs a command on another host. It has no terminal there: its input is that of this process, if that is no
 * terminal. Its output comes as it writes it, and signals to this process go there.
 */
async function execOn(
  context: CommandContext,
  plan: string | undefined,
  host: string,
  { inner, options }: { readonly inner: readonly string[]; readonly options: ExecOptions },
): Promise<void> {
  if (options.detach === true || (options.add ?? []).length > 0)
    throw new UsageError("A command on another host is not detached, and adds nothing to the plan.", {
      hint: "Leave out --detach and --add, or run the command on that host.",
    });
  const { stdout: _, ...given } = commandRequest(context, options);
  // A folder of that host.
  const cwd = options.directory === undefined ? {} : { cwd: options.directory };
  const result = await openToChange(context, plan, async (drydock, _signal, interruption) => {
    using signals = new RunningSignals(interruption);
    await using command = await fleetOf(drydock).spawnOn(host, plan, { ...given, ...cwd, command: inner });
    signals.passTo({ signal: (name) => command.kill(name) });
    const input = inputIsTerminal() ? "" : process.stdin;
    try {
      if (!context.options.json) return await streamed(command, input);
      const most = options.maxOutput === undefined ? {} : { maxOutputBytes: options.maxOutput };
      const output = await captureOutput(command, { input, ...most });
      const ended = await command.wait();
      context.output.document(captureDocument({ ...ended, ...output }));
      return ended;
    } finally {
      // Nobody reads it any more, and it would keep this process.
      if (input !== "") process.stdin.destroy();
    }
  });
  tellScratch(context, options, result);
  context.exitWith(result.exitCode);
}

/** The streams of this process are those of a command elsewhere. */
async function streamed(command: HostCommand, input: Readable | ""): Promise<ExecResult> {
  if (input === "") command.stdin.end();
  else input.pipe(command.stdin);
  command.stdout.pipe(process.stdout, { end: false });
  command.stderr.pipe(process.stderr, { end: false });
  const [result] = await Promise.all([command.wait(), finished(command.stdout), finished(command.stderr)]);
  return result;
}

/** What the options say about a command. Takes in the resources that they add to the plan. */
async function execRequest(
  context: CommandContext,
  plan: string | undefined,
  inner: readonly string[],
  options: ExecOptions,
) {
  const cwd = givenFolder(context, options);
  const resources = resourceRequests(options.add ?? [], context.cwd);
  if (resources.length > 0)
    await openToChange(context, plan, (drydock) => drydock.plans.add(plan, { resources }));
  return { command: inner, ...(cwd !== undefined && { cwd }), ...commandRequest(context, options) };
}

/** Runs a detached command in this process, which keeps it. */
export async function execDetached(
  context: CommandContext,
  {
    plan,
    inner,
    exec,
  }: { readonly plan?: string; readonly inner: readonly string[]; readonly exec: ExecOptions },
  { talk, detached, signal }: Required<Talk>,
): Promise<void> {
  const request = await execRequest(context, plan, inner, exec);
  const result = await openToChange(context, plan, async (drydock, _, interruption) => {
    using signals = new RunningSignals(interruption);
    const onStart: ExecRequest["onStart"] = (running) => signals.passTo(running);
    const spawned = { ...request, terminal: detached, signal, onStart };
    await using command = await drydock.spawn(plan, spawned, { detached: true });
    await talk(command, drydock);
    return await command.wait();
  });
  tellScratch(context, exec, result);
  context.exitWith(result.exitCode);
}

function tellScratch(
  { options, output, environment }: CommandContext,
  { quiet }: ExecOptions,
  { scratch }: ExecResult,
): void {
  if (options.json || quiet) return;
  for (const line of scratchLines(scratch, environment["HOME"])) output.notice(line);
}

/** The command has the streams of this process. */
async function shown(
  context: CommandContext,
  plan: string | undefined,
  request: RequestOptions & Pick<ExecRequest, "command" | "cwd">,
): Promise<ExecResult> {
  using _ = await startLauncher(context, request);
  return await openToChange(context, plan, async (drydock, _, interruption) => {
    using signals = new RunningSignals(interruption);
    return await drydock.exec(plan, { ...request, onStart: (running) => signals.passTo(running) });
  });
}

/** The output becomes part of the document. A terminal is no input here: the user sees no question. */
async function captured(
  context: CommandContext,
  plan: string | undefined,
  { stdout: _, ...request }: RequestOptions & Pick<ExecRequest, "command" | "cwd">,
  maxOutputBytes: number | undefined,
): Promise<ExecResult> {
  const result = await openToChange(context, plan, async (drydock, _, interruption) => {
    using signals = new RunningSignals(interruption);
    return await drydock.capture(plan, {
      ...request,
      ...(!inputIsTerminal() && { input: process.stdin }),
      ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      onStart: (running) => signals.passTo(running),
    });
  });
  context.output.document(captureDocument(result));
  return result;
}
