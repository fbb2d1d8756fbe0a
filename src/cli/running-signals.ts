import type { RunningCommand } from "../run/exec.ts";
import { hasTerminal } from "../system/terminal-input.ts";

/** What a terminal sends reaches the command without us, because it is in our process group there. */
const FROM_TERMINALS = ["SIGINT", "SIGQUIT"] as const;
const FROM_PROGRAMS = ["SIGTERM", "SIGHUP"] as const;

/** While it is in scope, signals to this process are for the command that it runs. */
export class RunningSignals {
  #running: RunningCommand | undefined;
  readonly #ignored: readonly NodeJS.Signals[] = hasTerminal() ? FROM_TERMINALS : [];
  readonly #passed: readonly NodeJS.Signals[] = hasTerminal() ? FROM_PROGRAMS : [...FROM_PROGRAMS, ...FROM_TERMINALS];
  readonly #ignore = (): void => undefined;
  readonly #waiting: NodeJS.Signals[] = [];
  readonly #passOn = (signal: NodeJS.Signals): void => {
    if (this.#running === undefined) this.#waiting.push(signal);
    else this.#running.signal(signal);
  };

  constructor() {
    for (const signal of this.#ignored) process.on(signal, this.#ignore);
    for (const signal of this.#passed) process.on(signal, this.#passOn);
  }

  /** The command that they are for. It gets those that came while it was being started, too. */
  passTo(running: RunningCommand): void {
    this.#running = running;
    for (const signal of this.#waiting.splice(0)) running.signal(signal);
  }

  [Symbol.dispose](): void {
    for (const signal of this.#ignored) process.off(signal, this.#ignore);
    for (const signal of this.#passed) process.off(signal, this.#passOn);
  }
}
