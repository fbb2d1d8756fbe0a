import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { childProcesses } from "./child-processes.ts";
import { failedWith } from "./errno.ts";
import { type Failpoint, passFailpoint } from "./failpoints.ts";
import { withoutInherited } from "./inherited-descriptors.ts";
import { childrenOf } from "./process-children.ts";
import { hasTerminal } from "./terminal-input.ts";

/** What to start, and what it finds at its descriptors. */
export interface IsolatedProcessOptions {
  readonly file: string;
  readonly args: readonly string[];
  /**
   * Descriptors of files that it finds at 3 and 5. What it finds at standard error is a pipe to us, by which it says that it is ready, or why it
   * can't be; the real one is at 4.
   */
  readonly script: number;
  readonly table: number;
  readonly environment: { readonly [name: string]: string };
  /** Where its standard output goes: ours, or standard error. */
  readonly stdout: "inherit" | "stderr";
}

/** What it said when it came up: nothing if all is well. */
export type StartReport = { readonly ready: true } | { readonly ready: false; readonly said: string };

const READY = "ready\n";
const LOOK_AGAIN_MS = 10;

/**
 * A process that starts a command in namespaces of its own. Its only child is the first process there, and the first child of that one is the
 * command. At a terminal it is in our process group, so what is typed reaches the command without us; elsewhere it is in a session of its own.
 */
export class IsolatedProcess {
  readonly started: Promise<StartReport>;
  /** The exit code; 128 and the number of the signal that ended it. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]));
    });
    this.started = reportOf(child.stderr as Readable);
  }

  static start(point: Failpoint, options: IsolatedProcessOptions): IsolatedProcess {
    passFailpoint(point);
    const { file, args, script, table, environment, stdout } = options;
    const child = withoutInherited(() =>
      childProcesses().spawn(file, args, {
        // An inherited current folder would keep a way to the outside.
        cwd: "/",
        env: environment,
        // Who is in a group can end all of it. At a terminal we have to share ours, or the command could not read what is typed.
        detached: !hasTerminal(),
        stdio: ["inherit", stdout === "stderr" ? 2 : "inherit", "pipe", script, 2, table],
      }),
    );
    return new IsolatedProcess(child);
  }

  /** The pid of the process through which others get into its view. */
  get keeper(): number | undefined {
    return this.#child.pid;
  }

  /** Ends the command with everything it started. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Sends a signal to the command itself, as soon as there is one. After its end this does nothing. */
  signal(name: NodeJS.Signals): void {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const first = this.#child.pid === undefined ? undefined : childrenOf(this.#child.pid)[0];
    const command = first === undefined ? undefined : childrenOf(first)[0];
    if (command === undefined || !isSent(command, name)) setTimeout(() => this.signal(name), LOOK_AGAIN_MS);
  }
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

/** What arrives until it is ready, or gone. */
function reportOf(channel: Readable): Promise<StartReport> {
  return new Promise((resolve, reject) => {
    let said = "";
    channel.setEncoding("utf8");
    channel.on("data", (text: string) => {
      said += text;
      if (said.endsWith(READY)) resolve({ ready: true });
    });
    channel.once("end", () => resolve({ ready: false, said: said.trim() }));
    channel.once("error", reject);
  });
}
