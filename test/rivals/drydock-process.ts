import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { bundledProgram } from "../support/bundled-program.ts";
import type { ChildAnswer, ChildError, ChildTask } from "./drydock-child.ts";

const PATIENCE_MS = 60_000;

export interface ProcessOptions {
  /** As in DRYDOCK_FAILPOINT. */
  readonly failpoint?: string;
  readonly trace?: string;
  /** Put before the command: `setpriv`, `unshare` … */
  readonly wrapper?: readonly string[];
}

/** How a process ended, and what it said. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly answers: readonly ChildAnswer[];
  readonly stderr: string;
}

/**
 * A process of its own that works with Drydock; it may stop at failpoints, and be continued, signalled or
 * killed.
 */
export class DrydockProcess {
  readonly #child: ChildProcess;
  readonly #end: Promise<ProcessEnd>;
  readonly #out: string[] = [];
  #hasEnded = false;

  constructor(task: ChildTask, { failpoint, trace, wrapper = [] }: ProcessOptions = {}) {
    const [program = process.execPath, ...args] = [
      ...wrapper,
      process.execPath,
      bundledProgram("test/rivals/drydock-child.ts"),
      JSON.stringify(task),
    ];
    const env: NodeJS.ProcessEnv = { ...process.env, NODE_NO_WARNINGS: "1" };
    if (failpoint !== undefined) env["DRYDOCK_FAILPOINT"] = failpoint;
    if (trace !== undefined) env["DRYDOCK_FAILPOINT_TRACE"] = trace;
    this.#child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#end = this.#collect();
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Waits until it has stopped at a failpoint. False if it ended instead. */
  async stops(): Promise<boolean> {
    for (const giveUpAt = Date.now() + PATIENCE_MS; Date.now() < giveUpAt; await sleep(3)) {
      if (this.#hasEnded) return await this.#endedInPeace();
      if (stateOf(this.pid) === "T") return true;
    }
    throw new Error(`Process ${this.pid} neither stopped nor ended.`);
  }

  /** The same, where it has to stop. */
  async mustStop(): Promise<void> {
    if (!(await this.stops()))
      throw new Error(`It did not stop: ${JSON.stringify((await this.#end).answers)}`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Lets it go on from where it stopped. It is no longer stopped when this returns. */
  goOn(): void {
    this.signal("SIGCONT");
  }

  /** Waits until it has answered that often; the first answer is that it has opened the state directory. */
  async hasSaid(answers: number): Promise<void> {
    while (!this.#hasEnded && this.#out.join("").split("\n").length <= answers) await sleep(3);
  }

  async ends(): Promise<ProcessEnd> {
    return await this.#end;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) this.signal("SIGKILL");
    await this.#end;
  }

  async #endedInPeace(): Promise<false> {
    const { code, signal, stderr } = await this.#end;
    if (code === 0) return false;
    throw new Error(`Process ${this.pid} ended with ${signal ?? code}: ${stderr}`);
  }

  async #collect(): Promise<ProcessEnd> {
    const err: string[] = [];
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#out.push(text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => err.push(text));
    const { promise, resolve, reject } = Promise.withResolvers<Pick<ProcessEnd, "code" | "signal">>();
    this.#child.on("error", reject);
    this.#child.on("close", (code, signal) => resolve({ code, signal }));
    const end = await promise;
    this.#hasEnded = true;
    const lines = this.#out
      .join("")
      .split("\n")
      .filter((line) => line !== "");
    return { ...end, answers: lines.map((line) => JSON.parse(line) as ChildAnswer), stderr: err.join("") };
  }
}

/** Runs a process to its end. */
export async function runProcess(task: ChildTask, options: ProcessOptions = {}): Promise<ProcessEnd> {
  return await new DrydockProcess(task, options).ends();
}

/** What the last call of a process returned. */
export function lastResult<T>(end: ProcessEnd): T {
  const last = end.answers.at(-1);
  if (last === undefined || "error" in last)
    throw new Error(`The process failed: ${JSON.stringify(last)} ${end.stderr}`);
  return last.result as T;
}

/** What the last call of a process threw. */
export function lastError(end: ProcessEnd): ChildError {
  const last = end.answers.at(-1);
  if (last === undefined || "result" in last)
    throw new Error(`The process did not fail: ${JSON.stringify(last)} ${end.stderr}`);
  return last.error;
}

/** One letter, as in proc(5): T is stopped. */
function stateOf(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2, text.lastIndexOf(")") + 3);
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && (thrown.code === "ENOENT" || thrown.code === "ESRCH"))
      return "X";
    throw thrown;
  }
}
