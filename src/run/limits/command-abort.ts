/** How long a command may take to end by itself. */
const GRACE_MS = 5_000;

/** A running command, as far as it can be ended. */
interface Endable {
  signal(name: NodeJS.Signals): void;
  kill(): void;
}

/** Ends a command when its caller aborts it: SIGTERM first, and SIGKILL after a while. */
export class CommandAbort implements Disposable {
  readonly #command: Endable;
  readonly #signal: AbortSignal | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #end = (): void => {
    this.#command.signal("SIGTERM");
    this.#timer = setTimeout(() => this.#command.kill(), GRACE_MS);
  };

  constructor(command: Endable, signal: AbortSignal | undefined) {
    this.#command = command;
    this.#signal = signal;
    if (signal?.aborted === true) this.#end();
    else signal?.addEventListener("abort", this.#end, { once: true });
  }

  /** Whether the command was ended for that. */
  get isAborted(): boolean {
    return this.#timer !== undefined;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#end);
  }
}
