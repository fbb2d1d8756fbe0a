import { RequestError } from "../http/problem.ts";
import type { Operation } from "../operation.ts";

/** How many requests may change something: checkpoints and words outlast the command. */
const MOST_CHANGES = 1_000;
/** How long one operation may take, in seconds. Statements hold up whoever else wants to work on the plan. */
const MOST_SECONDS = 600;
const MOST_SQL_SECONDS = 60;

/**
 * The operations of one channel, one after the other. The alarm ends the whole process, also one that does
 * not come back from a statement: what it leaves is what a crash leaves.
 */
export class ChannelTurns {
  readonly #alarm: (seconds: number) => void;
  #last: Promise<unknown> = Promise.resolve();
  #changes = 0;

  /** `alarm` ends this process after so many seconds; 0 takes that back. */
  constructor(alarm: (seconds: number) => void) {
    this.#alarm = alarm;
  }

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    await this.#last;
  }

  async take<T>({ id, method }: Operation, work: () => Promise<T>): Promise<T> {
    if (method !== "get") this.#changes += 1;
    if (this.#changes > MOST_CHANGES)
      throw new RequestError([429, "TOO_MANY_REQUESTS"], "This command has asked for too much.", {
        hint: "Ask the person outside.",
      });
    const turn = this.#last.then(async () => {
      this.#alarm(id === "runSql" ? MOST_SQL_SECONDS : MOST_SECONDS);
      try {
        return await work();
      } finally {
        this.#alarm(0);
      }
    });
    this.#last = turn.catch(() => undefined);
    return await turn;
  }
}
