/**
 * Turns at one connection: one user of it after the other, in the order in which they asked.
 */
export class Turns {
  #holder: string | undefined;
  readonly #waiting: (() => void)[] = [];

  /** The user whose turn it is, for people. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Whether a user has the turn or waits for it. */
  get isTaken(): boolean {
    return this.#holder !== undefined;
  }

  /** Whether somebody waits for the turn of another user. */
  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  /** Takes the turn if nobody has it; the result ends it. */
  takeNow(holder: string): (() => void) | undefined {
    return this.#holder === undefined ? this.#begun(holder) : undefined;
  }

  /** Waits for a turn; the result ends it. Undefined if the signal ended the wait. */
  async take(holder: string, signal?: AbortSignal): Promise<(() => void) | undefined> {
    if (signal?.aborted === true) return undefined;
    if (this.#holder !== undefined && !(await this.#itsTurn(signal))) return undefined;
    return this.#begun(holder);
  }

  #begun(holder: string): () => void {
    this.#holder = holder;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#holder = undefined;
      this.#waiting.shift()?.();
    };
  }

  #itsTurn(signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const begin = () => {
        signal?.removeEventListener("abort", leave);
        // No other user may come in between.
        this.#holder = "";
        resolve(true);
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        resolve(false);
      };
      this.#waiting.push(begin);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}
