import { messageOf, SystemCallError } from "../../core/errors/errors.ts";
import type { PlanView } from "../../plans/plan-views.ts";
import type { WindowSize } from "../../system/terminal/program-streams.ts";
import { commandText, type ExecResult } from "../exec.ts";
import type { SpawnedCommand } from "../spawn.ts";
import { DetachedTerminal } from "./detached-terminal.ts";
import { keepOutput } from "./kept-output.ts";

/** A detached command that is up. */
export interface DetachedReport {
  readonly planId: string;
  /** That of the plan. */
  readonly name: string;
  /** Its id in the history of the plan. */
  readonly exec: string;
  readonly command: string;
  /** The process that keeps it. */
  readonly pid: number;
}

export interface KeepingParts {
  /** The command, as its user gave it. */
  readonly command: readonly string[];
  readonly size: WindowSize;
  /** Called when the command is up. */
  readonly onUp: (report: DetachedReport) => void;
}

/** A detached command that has ended, and the last of what was said to users since. */
export interface EndedCommand {
  readonly planId: string;
  readonly exec: string;
  readonly exitCode: number;
  readonly said: string;
}

/** How many lines of that. */
const MOST_SAID = 100;

/** Of an open state directory. */
interface OpenState {
  readonly stateDir: string;
  readonly plans: { find(plan: string): Promise<Pick<PlanView, "name">> };
}

/**
 * What the process does that keeps a detached command: it has the streams of the command, which it runs as
 * any other, shows them as a terminal to those who attach, and keeps the last of the output.
 */
export class CommandKeeping {
  readonly #parts: KeepingParts;
  readonly #stop = new AbortController();
  #terminal: DetachedTerminal | undefined;
  #ended: Omit<EndedCommand, "said"> | undefined;
  readonly #said: string[] = [];

  constructor(parts: KeepingParts) {
    this.#parts = parts;
  }

  /** Aborted when the command should end: it is to be started with it. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isUp(): boolean {
    return this.#terminal !== undefined;
  }

  /** Asks the command to end. */
  stop(): void {
    this.#stop.abort();
  }

  /** The command, once it has ended and its output is kept. */
  get ended(): EndedCommand | undefined {
    return this.#ended && { ...this.#ended, said: this.#said.slice(-MOST_SAID).join("\n") };
  }

  /** Says a line to those who are attached, now or later. */
  notice(line: string): void {
    if (this.#ended !== undefined) this.#said.push(line);
    this.#terminal?.notice(line);
  }

  /** Says all lines of a text. */
  say(text: string): void {
    for (const line of text.split("\n")) if (line !== "") this.notice(line);
  }

  /** Keeps the terminal of a command that has just started, until it has ended. */
  async talk(command: SpawnedCommand, { stateDir, plans }: OpenState): Promise<ExecResult> {
    const { planId, exec } = command;
    const { size, onUp } = this.#parts;
    const terminal = await DetachedTerminal.open({ stateDir, command, size, onStop: () => this.stop() });
    const { name } = await plans.find(planId);
    onUp({ planId, name, exec, command: commandText(this.#parts.command), pid: process.pid });
    this.#terminal = terminal;
    const output = await terminal.shown();
    try {
      keepOutput(stateDir, planId, exec, output);
    } catch (thrown) {
      // The work of the command matters more than what it wrote.
      if (!(thrown instanceof SystemCallError)) throw thrown;
      terminal.notice(`The last of its output could not be kept: ${messageOf(thrown)}`);
    }
    const result = await command.wait();
    this.#ended = { planId, exec, exitCode: result.exitCode };
    return result;
  }

  /** Says the last word to those who are attached. */
  async end(exitCode: number): Promise<void> {
    await this.#terminal?.end({ exitCode });
  }
}
