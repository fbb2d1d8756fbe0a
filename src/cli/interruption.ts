const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Turns the signals that ask a process to end into an abort signal, while it is in scope (`using`). Work
 * under way then stops cleanly, or finishes if it is decided; after that the process ends by itself.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #say: (line: string) => void;
  #receiver: (signal: NodeJS.Signals) => void = (signal) => this.#interrupt(signal);
  readonly #listener = (signal: NodeJS.Signals): void => this.#receiver(signal);

  constructor(say: (line: string) => void) {
    this.#say = say;
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /**
   * Passes signals to another receiver while the result is in scope. Our listener stays: without a listener,
   * even for a moment, a signal would be lost or end the process.
   */
  handOver(receiver: (signal: NodeJS.Signals) => void): Disposable {
    const before = this.#receiver;
    this.#receiver = receiver;
    return {
      [Symbol.dispose]: () => {
        this.#receiver = before;
      },
    };
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
