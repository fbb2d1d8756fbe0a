import { InterruptedError, UnsupportedError } from "../../core/errors/errors.ts";

/** How long a call may still take after the user interrupts. */
const AFTER_INTERRUPTION_MS = 5_000;

/** The longest wait of a timer: three weeks. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** A call, as messages name it. */
export interface StrategyCall {
  readonly strategy: string;
  readonly method: string;
  /** The call runs to its end although the user interrupts. */
  readonly finishes: boolean;
}

/**
 * Bounds the time of calls on one instance of a strategy. A call that did not end in time may still be
 * running, so this process calls nothing else on that instance. The signal tells the instance.
 */
export class CallLimit {
  readonly #milliseconds: number;
  readonly #user: () => AbortSignal;
  readonly #late = new AbortController();
  #givenUp: string | undefined;

  /** `user` gives the signal of the present call. */
  constructor(milliseconds: number, user: () => AbortSignal) {
    this.#milliseconds = Math.min(milliseconds, LONGEST_WAIT_MS);
    this.#user = user;
  }

  /** Aborted when the user interrupts, or when a call takes too long. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.#user(), this.#late.signal]);
  }

  /**
   * Runs a call, and gives it up when it takes too long. The timer also keeps the process alive during a call
   * that never ends.
   */
  async within<T>(call: StrategyCall, action: () => Promise<T>): Promise<T> {
    this.#assertAnswering(call);
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const giveUp = (error: Error) => {
      this.#givenUp = call.method;
      this.#late.abort(error);
      reject(error);
    };
    let timer = setTimeout(() => giveUp(this.#timeout(call)), this.#milliseconds);
    const interrupted = () => {
      clearTimeout(timer);
      timer = setTimeout(
        () => giveUp(new InterruptedError()),
        Math.min(AFTER_INTERRUPTION_MS, this.#milliseconds),
      );
    };
    const user = call.finishes ? undefined : this.#user();
    if (user?.aborted === true) interrupted();
    else user?.addEventListener("abort", interrupted);
    try {
      return await Promise.race([action(), tooLate]);
    } finally {
      clearTimeout(timer);
      user?.removeEventListener("abort", interrupted);
    }
  }

  #assertAnswering({ strategy, method }: StrategyCall): void {
    if (this.#givenUp === undefined) return;
    throw new UnsupportedError(
      `${method} of the strategy ${strategy} is not called: its ${this.#givenUp} did not end and may still be at work.`,
      { hint: "Try again in a new process, which may call the strategy.", code: "STRATEGY_TIMEOUT" },
    );
  }

  #timeout({ strategy, method }: StrategyCall): UnsupportedError {
    const seconds = this.#milliseconds / 1000;
    return new UnsupportedError(
      `${method} of the strategy ${strategy} did not end within ${seconds} seconds.`,
      {
        hint: `Fix that strategy, or give it more time with sandbox.custom_strategies.${strategy}.timeout.`,
        code: "STRATEGY_TIMEOUT",
      },
    );
  }
}
