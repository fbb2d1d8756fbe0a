import { InterruptedError } from "../../core/errors/errors.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import { runInTurns, type Steps } from "./pace.ts";

/** Runs long work of a strategy: reports progress, and stops when the user interrupts. */
export class LongWork {
  readonly #context: StrategyContext;

  constructor(context: StrategyContext) {
    this.#context = context;
  }

  /** `total` is the number of entries, where it is known. */
  async run<Result>(task: string, steps: Steps<Result>, total?: number): Promise<Result> {
    return await runInTurns(steps, this.adder(task, "asked-to-stop", total));
  }

  /** Runs work to its end, even if the user interrupts: half of it would be of no use. */
  async toEnd<Result>(task: string, steps: Steps<Result>, total?: number): Promise<Result> {
    return await runInTurns(steps, this.adder(task, "to-its-end", total));
  }

  /** Returns a function to call after each of `total` pieces. */
  counter(task: string, total: number): () => void {
    let done = 0;
    return () => {
      done += 1;
      this.#context.progress({ task, done, total });
    };
  }

  /** Returns a function to call with the number of pieces done since the last call. */
  adder(
    task: string,
    until: "asked-to-stop" | "to-its-end" = "asked-to-stop",
    total?: number,
  ): (pieces: number) => void {
    let done = 0;
    return (pieces) => {
      if (until === "asked-to-stop") this.stopIfAsked();
      done += pieces;
      this.#context.progress({ task, done, ...(total !== undefined && { total }) });
    };
  }

  stopIfAsked(): void {
    if (this.#context.signal.aborted) throw new InterruptedError();
  }
}
