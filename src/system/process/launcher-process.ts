import type { ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { failedWith } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { socketPair, takeDescriptor } from "./passed-descriptor.ts";
import { childrenOf } from "./processes.ts";
import { type Program, startProcess } from "./start-process.ts";

export interface LauncherOptions extends Program {
  /** What the command is to find at 0, 1 and 2. */
  readonly streams: readonly [number, number, number];
}

/** What it said when it came up. */
export type StartReport = { readonly ready: true } | { readonly ready: false; readonly said: string };

const WAITING = "waiting";
const READY = "ready";
const FAILED = "failed ";
const LOOK_AGAIN_MS = 10;
/** How long a view may take to be put together. */
const LIMIT_MS = 60_000;

/**
 * A process that waits to become a command in namespaces of its own. It is the parent of the first process
 * there, whose first child is the command. Its descriptors are those of run/launch-spec.ts; until the command
 * starts, its standard error is a pipe to us.
 */
export class LauncherProcess {
  /** The exit code; 128 and the number of the signal that ended it. */
  readonly ended: Promise<number>;
  /**
   * Called when the command waits, because it was stopped or wants the keyboard; when that resolves, the
   * command goes on.
   */
  onWaiting: (why: "stopped" | "keyboard") => Promise<void> = () => Promise.resolve();
  /** It is up, and waits to be told; or it has ended. */
  readonly waiting: Promise<void>;
  #isWaiting: () => void = () => undefined;
  readonly #child: ChildProcess;
  readonly #passing: number;
  readonly #report: Promise<StartReport>;

  private constructor(child: ChildProcess, passing: number) {
    this.#child = child;
    this.#passing = passing;
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]));
    });
    this.waiting = new Promise((resolve) => {
      this.#isWaiting = resolve;
    });
    this.#report = this.#listen();
    // A launcher that is not used is not waited for, and what became of it is then no failure of anything.
    void Promise.allSettled([this.#report, this.ended]);
  }

  static start(point: Failpoint, { streams, ...program }: LauncherOptions): LauncherProcess {
    passFailpoint(point);
    const [ours, theirs] = socketPair();
    try {
      const child = startProcess(program, [streams[0], streams[1], "pipe", "pipe", streams[2], theirs]);
      return new LauncherProcess(child, ours);
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

  /** Tells it what to become. */
  async launch(specification: string): Promise<StartReport> {
    this.#control.write(`${specification}\n`);
    // A file system of the host that does not answer must not keep us for ever.
    const clock = setTimeout(() => this.kill(), LIMIT_MS);
    try {
      return await this.#report;
    } finally {
      clearTimeout(clock);
    }
  }

  /** A descriptor that it has handed to us. */
  take(): number {
    return takeDescriptor(this.#passing);
  }

  /** The pid of the first process of the namespaces, through which others get into them. */
  get first(): number | undefined {
    return this.#child.pid === undefined ? undefined : childrenOf(this.#child.pid)[0];
  }

  /** The processes that everything else of the command descends from, the parent first. */
  get origins(): readonly number[] {
    // When it has ended, its number may be another process's.
    if (this.#hasEnded) return [];
    return [this.#child.pid, this.first].filter((pid) => pid !== undefined);
  }

  /** Ends the command with everything it started; or the launcher, if it was not told anything yet. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Sends a signal to the command itself, as soon as there is one. After its end this does nothing. */
  signal(name: NodeJS.Signals): void {
    if (this.#hasEnded) return;
    const { first } = this;
    const command = first === undefined ? undefined : childrenOf(first)[0];
    if (command === undefined || !isSent(command, name)) setTimeout(() => this.signal(name), LOOK_AGAIN_MS);
  }

  /** Lets go of what is left open when it has ended. */
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
        resolve({ ready: false, said: said.trim() || "its launcher was ended" });
      });
      this.#control.on("error", (thrown) => (isGone(thrown) ? undefined : reject(thrown)));
    });
  }

  #hear(line: string, report: (report: StartReport) => void): void {
    if (line === WAITING) this.#isWaiting();
    else if (line === READY) report({ ready: true });
    else if (line.startsWith(FAILED)) report({ ready: false, said: JSON.parse(line.slice(FAILED.length)) });
    else if (line === "stopped" || line === "keyboard") this.#pause(line);
  }

  #pause(why: "stopped" | "keyboard"): void {
    void this.onWaiting(why).then(() => this.#control.write("continue\n"));
  }
}

/** A launcher that ended says why at its standard error. */
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
