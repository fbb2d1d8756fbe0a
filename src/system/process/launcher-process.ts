import type { ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { failedWith } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { socketPair, takeDescriptor } from "./passed-descriptor.ts";
import { childrenOf, commandOf, SUPERVISOR_NAME } from "./processes.ts";
import { type Program, startProcess } from "./start-process.ts";

export interface LauncherOptions extends Program {
  /** The command's descriptors 0, 1 and 2. */
  readonly streams: readonly [number, number, number];
  /** The signal that ends the command with everything it started. Default: SIGKILL. */
  readonly endSignal?: NodeJS.Signals;
}

/** What the launcher reported: the command is up, or an error. */
export type StartReport =
  | {
      readonly ready: true;
      /** Paths at which the command sees what the whole machine has, because the kernel refused its own. */
      readonly weaker: readonly string[];
    }
  | {
      readonly ready: false;
      readonly said: string;
      /** It may make no namespaces, or no mounts in them, whatever the command. */
      readonly noNamespaces: boolean;
    };

const WAITING = "waiting";
const READY = "ready";
const FAILED = "failed ";
const DENIED = "denied ";
const WEAKER = "weaker ";
/** The programs that make namespaces, as they begin their messages. */
const PROGRAMS = /^(?:unshare|nsenter|setpriv): /m;
const LOOK_AGAIN_MS = 10;
/** The longest time for building a view. */
const LIMIT_MS = 60_000;

/**
 * A process that waits to become a command in its own namespaces. It is the parent of the first process
 * there, whose first child is the command, or a supervisor (run/rename-supervisor/) and then the command.
 * run/launch/launch-spec.ts describes its descriptors. Until the command starts, its standard error is a pipe
 * to us.
 */
export class LauncherProcess {
  /** The exit code; 128 plus the number of the signal that ended it. */
  readonly ended: Promise<number>;
  /**
   * Called when the command was stopped or wants the keyboard. The command goes on when the promise resolves.
   */
  onWaiting: (why: "stopped" | "keyboard") => Promise<void> = () => Promise.resolve();
  /** Resolves when the launcher is up and waits for its specification, or has ended. */
  readonly waiting: Promise<void>;
  #isWaiting: () => void = () => undefined;
  #hasWaited = false;
  readonly #weaker: string[] = [];
  readonly #endSignal: NodeJS.Signals;
  readonly #child: ChildProcess;
  readonly #passing: number;
  readonly #report: Promise<StartReport>;

  private constructor(child: ChildProcess, passing: number, endSignal: NodeJS.Signals) {
    this.#child = child;
    this.#endSignal = endSignal;
    this.#passing = passing;
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]));
    });
    this.waiting = new Promise((resolve) => {
      this.#isWaiting = resolve;
    });
    this.#report = this.#listen();
    // Nothing waits for an unused launcher, so its end must not become an unhandled rejection.
    void Promise.allSettled([this.#report, this.ended]);
  }

  static start(point: Failpoint, options: LauncherOptions): LauncherProcess {
    const { streams, endSignal = "SIGKILL", ...program } = options;
    passFailpoint(point);
    const [ours, theirs] = socketPair();
    try {
      const child = startProcess(program, [streams[0], streams[1], "pipe", "pipe", streams[2], theirs]);
      return new LauncherProcess(child, ours, endSignal);
    } finally {
      closeSync(theirs);
    }
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get #control(): Duplex {
    return this.#child.stdio[3] as Duplex;
  }

  /** Sends the specification, and waits for the report. */
  async launch(specification: string): Promise<StartReport> {
    this.#control.write(`${specification}\n`);
    // A file system of the host that does not answer must not block us for ever.
    const clock = setTimeout(() => this.kill(), LIMIT_MS);
    try {
      return await this.#report;
    } finally {
      clearTimeout(clock);
    }
  }

  /** The next descriptor that the launcher passed to us. */
  take(): number {
    return takeDescriptor(this.#passing);
  }

  /** The pid of the first process of the namespaces; other commands join them through it. */
  get first(): number | undefined {
    return this.#child.pid === undefined ? undefined : childrenOf(this.#child.pid)[0];
  }

  /** The ancestors of all processes of the command, the parent first. */
  get origins(): readonly number[] {
    // After its end, another process may have its number.
    if (this.#hasEnded) return [];
    return [this.#child.pid, this.first].filter((pid) => pid !== undefined);
  }

  /** Kills the command with everything it started, or the launcher that still waits. */
  kill(): void {
    this.#child.kill(this.#endSignal);
  }

  /** Sends a signal to the command, as soon as there is one. Does nothing after its end. */
  signal(name: NodeJS.Signals): void {
    if (this.#hasEnded) return;
    const { first } = this;
    const children = first === undefined ? [] : childrenOf(first);
    const command = children.find((pid) => commandOf(String(pid)) !== SUPERVISOR_NAME);
    if (command === undefined || !isSent(command, name)) setTimeout(() => this.signal(name), LOOK_AGAIN_MS);
  }

  /** Closes the remaining descriptors after the end. */
  close(): void {
    closeSync(this.#passing);
    this.#control.destroy();
  }

  #listen(): Promise<StartReport> {
    const complaints = this.#child.stderr as Readable;
    let said = "";
    complaints.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    return new Promise((resolve, reject) => {
      this.#control.setEncoding("utf8");
      let rest = "";
      this.#control.on("data", (text: string) => {
        const lines = `${rest}${text}`.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#hear(line, resolve);
      });
      complaints.once("close", () => {
        this.#isWaiting();
        const why = said.trim() || "its launcher was ended";
        resolve({ ready: false, said: why, noNamespaces: !this.#hasWaited && PROGRAMS.test(said) });
      });
      this.#control.on("error", (thrown) => (isGone(thrown) ? undefined : reject(thrown)));
    });
  }

  #hear(line: string, report: (report: StartReport) => void): void {
    const failure = [FAILED, DENIED].find((word) => line.startsWith(word));
    if (line === WAITING) {
      this.#hasWaited = true;
      this.#isWaiting();
    } else if (line === READY) report({ ready: true, weaker: this.#weaker });
    else if (line.startsWith(WEAKER)) this.#weaker.push(line.slice(WEAKER.length));
    else if (failure !== undefined)
      report({
        ...{ ready: false, said: JSON.parse(line.slice(failure.length)) },
        noNamespaces: failure === DENIED,
      });
    else if (line === "stopped" || line === "keyboard") this.#pause(line);
  }

  #pause(why: "stopped" | "keyboard"): void {
    void this.onWaiting(why).then(() => this.#control.write("continue\n"));
  }
}

/** Whether the launcher ended; it says why on its standard error. */
function isGone(thrown: unknown): boolean {
  return failedWith(thrown, "EPIPE", "ECONNRESET");
}

/** False if the process is gone. */
function isSent(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (thrown) {
    if (failedWith(thrown, "ESRCH")) return false;
    throw thrown;
  }
}
