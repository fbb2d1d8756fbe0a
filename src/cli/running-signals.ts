import type { RunningCommand } from "../run/exec.ts";
import type { Interruption } from "./interruption.ts";

/** While it is in scope, signals to this process go to the command that it runs. */
export class RunningSignals {
  #running: RunningCommand | undefined;
  readonly #waiting: NodeJS.Signals[] = [];
  readonly #handed: Disposable;
  readonly #receive = (signal: NodeJS.Signals): void => {
    if (this.#running === undefined) this.#waiting.push(signal);
    else this.#running.signal(signal);
  };

  constructor(interruption: Interruption) {
    this.#handed = interruption.handOver(this.#receive);
    // The interruption does not listen for this signal.
    process.on("SIGQUIT", this.#receive);
  }

  /** Names the running command, and passes on the signals that came while it started. */
  passTo(running: RunningCommand): void {
    this.#running = running;
    for (const signal of this.#waiting.splice(0)) running.signal(signal);
  }

  [Symbol.dispose](): void {
    process.off("SIGQUIT", this.#receive);
    this.#handed[Symbol.dispose]();
  }
}
