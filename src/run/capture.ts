import type { Readable } from "node:stream";
import { BoundedOutput, type CapturedOutput } from "../system/terminal/bounded-output.ts";
import { assertNotAborted, type ExecResult } from "./exec.ts";
import type { Runs } from "./runs.ts";
import { type SpawnedCommand, type SpawnHow, type SpawnRequest, spawn } from "./spawn.ts";

/** A command whose output is captured. */
export interface CaptureRequest extends Omit<SpawnRequest, "terminal"> {
  /**
   * Its standard input; a text is written as UTF-8, a stream is read as long as the command runs. Default:
   * nothing.
   */
  readonly input?: string | Uint8Array | Readable;
  /** The most bytes to keep of each output. Default: a MiB. */
  readonly maxOutputBytes?: number;
}

/** How a command ended, and what it wrote. */
export interface CaptureResult extends ExecResult {
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean };
}

const MOST_BYTES = 1024 * 1024;

/** Runs a command to its end and captures its output. Fails if its caller aborted it. */
export async function capture(
  runs: Runs,
  plan: string | undefined,
  { input = "", maxOutputBytes = MOST_BYTES, ...request }: CaptureRequest,
  how?: SpawnHow,
): Promise<CaptureResult> {
  const command = await spawn(runs, plan, request, how);
  const [output, result] = await Promise.all([
    captureOutput(command, { input, maxOutputBytes }),
    command.wait(),
  ]);
  assertNotAborted(result);
  return { ...result, ...output };
}

/** What a command wrote. */
export type CommandOutput = Pick<CaptureResult, "stdout" | "stderr" | "truncated">;

/** Gives a command its input, and captures what it writes until it ends. */
export async function captureOutput(
  command: Pick<SpawnedCommand, "stdin" | "stdout" | "stderr" | "wait">,
  { input = "", maxOutputBytes = MOST_BYTES }: Pick<CaptureRequest, "input" | "maxOutputBytes">,
): Promise<CommandOutput> {
  const isStream = typeof input !== "string" && !(input instanceof Uint8Array);
  if (isStream) input.pipe(command.stdin);
  else command.stdin.end(input);
  const [stdout, stderr] = await Promise.all([
    captured(command.stdout, maxOutputBytes),
    captured(command.stderr, maxOutputBytes),
    command.wait(),
  ]);
  if (isStream) input.destroy();
  return { stdout, stderr, truncated: { stdout: stdout.omitted > 0, stderr: stderr.omitted > 0 } };
}

/** The result as plain data, for a document: each output as text. */
export function captureDocument<Result extends CommandOutput>({ stdout, stderr, ...result }: Result) {
  return { ...result, stdout: stdout.text, stderr: stderr.text };
}

/** Reads a stream to its end, and keeps at most this many bytes: the first half, and the last one. */
async function captured(stream: Readable, most: number): Promise<CapturedOutput> {
  const kept = new BoundedOutput(most);
  for await (const bytes of stream) kept.add(bytes as Buffer);
  return kept.output();
}
