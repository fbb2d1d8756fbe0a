import { z } from "zod";
import { DrydockError, UsageError } from "../../core/errors/errors.ts";
import type { CaptureResult } from "../../run/capture.ts";
import { MOST_CHARACTERS } from "../capped.ts";
import type { RunningCommand } from "../running-commands.ts";
import { planArgument } from "../shapes.ts";
import { type ToolCall, tool } from "../tool.ts";

const WAIT_SECONDS = 30;
const MOST_WAIT_SECONDS = 300;
const PROGRESS_MS = 2000;
/** Two outputs share the room of one result. */
const MOST_OUTPUT = MOST_CHARACTERS / 2;

export const planExec = tool({
  name: "plan_exec",
  title: "Run a command",
  description: [
    "Runs a command inside the plan. It sees the whole machine, with the plan's copies in the places of the originals; what it changes there stays in the plan.",
    "A command that fails is a successful call: look at exitCode.",
    `A command that runs longer than waitSeconds (default ${WAIT_SECONDS}) returns running: true and a handle; call again with only that handle to wait on, or with stop: true to end it.`,
  ].join(" "),
  input: z.object({
    plan: planArgument,
    command: z.array(z.string()).min(1).optional().describe("The program and its arguments."),
    script: z.string().optional().describe("A script for sh, instead of command."),
    cwd: z.string().optional().describe("Where it starts. Default: the first resource that is a folder."),
    environment: z.record(z.string(), z.string()).optional(),
    input: z.string().optional().describe("Its standard input."),
    network: z
      .boolean()
      .optional()
      .describe("Whether it may use the network. Default: as the user's policy says."),
    timeoutSeconds: z.number().positive().optional().describe("Ends it after this time."),
    waitSeconds: z.number().min(0).max(MOST_WAIT_SECONDS).optional(),
    handle: z.string().optional().describe("A command that still runs."),
    stop: z.boolean().optional().describe("Ends the command of the handle."),
  }),
  output: z.object({
    running: z.boolean(),
    handle: z.string().optional(),
    exitCode: z.number().optional(),
    signal: z.string().optional(),
    stdout: z.string().optional(),
    stderr: z.string().optional(),
    truncated: z.object({ stdout: z.boolean(), stderr: z.boolean() }).optional(),
    durationMs: z.number(),
    denied: z
      .array(z.object({ destination: z.string(), address: z.string().optional(), times: z.number() }))
      .optional()
      .describe("Servers that it was not allowed to reach. Only the user can allow more."),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  call: async (input, call) => {
    const { handle, stop = false, waitSeconds = WAIT_SECONDS } = input;
    const command = handle === undefined ? await start(input, call) : call.commands.find(handle);
    if (stop) command.stop();
    const result = await waited(command, waitSeconds, call);
    if (result !== undefined) return ended(result);
    if (call.signal.aborted) command.stop();
    const durationMs = Math.round(performance.now() - command.startedAt);
    return { running: true, handle: command.handle, durationMs };
  },
});

interface ExecInput {
  readonly plan?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly script?: string | undefined;
  readonly cwd?: string | undefined;
  readonly environment?: { readonly [name: string]: string } | undefined;
  readonly input?: string | undefined;
  readonly network?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
}

async function start(given: ExecInput, { services, planOf, commands }: ToolCall): Promise<RunningCommand> {
  const { command, script, cwd, environment, input, network, timeoutSeconds } = given;
  if ((command === undefined) === (script === undefined))
    throw new UsageError("The command is missing, or given twice.", { hint: "Give command or script." });
  const plan = await planOf(given.plan);
  return commands.start(async (stopped) => {
    const limit = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(timeoutSeconds * 1000);
    try {
      return await services.capture(plan, {
        command: command ?? ["sh", "-c", script ?? ""],
        signal: limit === undefined ? stopped : AbortSignal.any([stopped, limit]),
        maxOutputBytes: MOST_OUTPUT,
        ...(cwd !== undefined && { cwd }),
        ...(environment !== undefined && { environment }),
        ...(input !== undefined && { input }),
        ...(network !== undefined && { network }),
      });
    } catch (thrown) {
      if (limit?.aborted !== true) throw thrown;
      throw timedOut(timeoutSeconds, thrown);
    }
  });
}

function timedOut(seconds: number | undefined, cause: unknown): DrydockError {
  return new DrydockError("TIMEOUT", `The command was ended after ${seconds} s, its timeoutSeconds.`, {
    cause,
  });
}

/** Waits for a command, and tells the client now and then that it goes on. */
async function waited(
  command: RunningCommand,
  seconds: number,
  { signal, progress }: ToolCall,
): Promise<CaptureResult | undefined> {
  const until = performance.now() + seconds * 1000;
  for (;;) {
    const left = until - performance.now();
    const result = await command.endedWithin(Math.max(0, Math.min(left, PROGRESS_MS)), signal);
    if (result !== undefined || left <= PROGRESS_MS || signal.aborted) return result;
    await progress(`running for ${Math.round((performance.now() - command.startedAt) / 1000)} s`);
  }
}

function ended({ exitCode, signal, stdout, stderr, truncated, durationMs, denied }: CaptureResult) {
  const output = { stdout: stdout.text, stderr: stderr.text, truncated };
  return { running: false, exitCode, signal, ...output, durationMs, ...(denied && { denied: [...denied] }) };
}
