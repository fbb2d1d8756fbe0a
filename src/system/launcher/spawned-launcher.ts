import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { failedWith } from "../calls/errno.ts";
import { childrenOf } from "../process/processes.ts";
import { type Program, startProcess } from "../process/start-process.ts";
import type { LauncherChild, LauncherDescriptors } from "./launcher-process.ts";

/**
 * A launcher that is a program: the parent of the first process of its namespaces. Until the command starts,
 * its standard error is a pipe to us.
 */
export class SpawnedLauncher implements LauncherChild {
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  readonly #endSignal: NodeJS.Signals;

  /** `endSignal` ends the command with everything it started. */
  constructor(
    program: Program,
    { streams: [input, output, errors], passing }: LauncherDescriptors,
    endSignal: NodeJS.Signals = "SIGKILL",
  ) {
    const child = startProcess(program, [input, output, "pipe", "pipe", errors, passing]);
    this.#child = child;
    this.#endSignal = endSignal;
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]));
    });
  }

  get first(): number | undefined {
    return this.#child.pid === undefined ? undefined : childrenOf(this.#child.pid)[0];
  }

  write(text: string): void {
    this.#control.write(text);
  }

  listen(hear: (text: string) => void): Promise<string> {
    const complaints = this.#child.stderr as Readable;
    let said = "";
    complaints.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    this.#control.setEncoding("utf8").on("data", hear);
    return new Promise((resolve, reject) => {
      complaints.once("close", () => resolve(said));
      this.#control.on("error", (thrown) => (isGone(thrown) ? undefined : reject(thrown)));
    });
  }

  kill(): void {
    this.#child.kill(this.#endSignal);
  }

  close(): void {
    this.#control.destroy();
  }

  get #control(): Duplex {
    return this.#child.stdio[3] as Duplex;
  }
}

/** Whether the launcher ended; it says why on its standard error. */
function isGone(thrown: unknown): boolean {
  return failedWith(thrown, "EPIPE", "ECONNRESET");
}
