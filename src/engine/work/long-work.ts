import { InterruptedError } from "../../core/errors/errors.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import { runInTurns, type Steps } from "./pace.ts";

/** Runs long work of a strategy: reports progress, and stops when the user interrupts. */
export class LongWork {
  readonly #context: StrategyContext;

  constructor(context: StrategyContext) {
    this.#context = context;
  }

  async run(task: string, steps: Steps): Promise<void> {
    let done = 0;
    await runInTurns(steps, (entries) => {
      this.stopIfAsked();
      done += entries;
      this.#context.progress({ task, done });
    });
  }

  /** Runs work to its end, even if the user interrupts: half of it would be of no use. */
  async toEnd(task: string, steps: Steps): Promise<void> {
    let done = 0;
    await runInTurns(steps, (entries) => {
      done += entries;
      this.#context.progress({ task, done });
    });
  }

  /** Returns a function to call after each of `total` pieces. */
  counter(task: string, total: number): () => void {
    let done = 0;
    return () => {
      done += 1;
      this.#context.progress({ task, done, total });
    };
  }

  /**
   * Returns a function to call with the number of pieces done since the last call, where the total is
   * unknown.
   */
  adder(task: string, until: "asked-to-stop" | "to-its-end" = "asked-to-stop"): (pieces: number) => void {
    let done = 0;
    return (pieces) => {
      if (until === "asked-to-stop") this.stopIfAsked();
      done += pieces;
      this.#context.progress({ task, done });
    };
  }

  stopIfAsked(): void {
    if (this.#context.signal.aborted) throw new InterruptedError();
  }
}
