import { InterruptedError } from "../../core/errors/errors.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import { runInTurns, type Steps } from "./pace.ts";

/** Work of a strategy that may take long: tells how far it has come, and stops when the user asks for it. */
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

  /** Work that is of no use half done is not stopped. */
  async toEnd(task: string, steps: Steps): Promise<void> {
    let done = 0;
    await runInTurns(steps, (entries) => {
      done += entries;
      this.#context.progress({ task, done });
    });
  }

  /** To be called after each of so many pieces. */
  counter(task: string, total: number): () => void {
    let done = 0;
    return () => {
      done += 1;
      this.#context.progress({ task, done, total });
    };
  }

  /**
   * To be called with the number of pieces that were done since the last call, where nobody knows how many
   * there are.
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
