const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Turns the signals that ask a process to end into an abort signal, for as long as it is in scope (`using`). What is under way then stops
 * cleanly, or, if it is decided already, finishes; the process ends by itself after that.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #say: (line: string) => void;
  readonly #listener = (signal: NodeJS.Signals): void => this.#interrupt(signal);

  constructor(say: (line: string) => void) {
    this.#say = say;
    this.#listen();
  }

  /** Leaves signals to somebody else while the result is in scope. */
  suspended(): Disposable {
    this[Symbol.dispose]();
    return { [Symbol.dispose]: () => this.#listen() };
  }

  #listen(): void {
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }

  #interrupt(signal: NodeJS.Signals): void {
    if (this.signal.aborted) {
      this.#say("still finishing, so that nothing is left half done; please wait");
      return;
    }
    this.#say(`${signal}: stopping; what is already decided is finished first`);
    this.#controller.abort();
  }
}
