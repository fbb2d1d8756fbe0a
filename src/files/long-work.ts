import { InterruptedError } from "../core/errors.ts";
import type { StrategyContext } from "../core/strategy.ts";
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

  stopIfAsked(): void {
    if (this.#context.signal.aborted) throw new InterruptedError();
  }
}
