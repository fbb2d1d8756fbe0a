import { setImmediate as nextTurn } from "node:timers/promises";
import type { LimitName } from "../../core/values/limits.ts";

/** One look, which says whether the limit is met. One that takes long yields in between. */
export type LimitCheck = () => boolean | Generator<unknown, boolean, undefined>;

const SHORTEST_PAUSE_MS = 100;
/**
 * The pause after a look is so many times as long as the look took: at most a tenth of one processor goes
 * into looking.
 */
const PAUSE_PER_LOOK = 9;
const LONGEST_TURN_MS = 10;

/**
 * Looks from time to time whether a running command has met a limit, and ends it then. What can't be looked
 * at ends it too: a limit that can't be kept is worse than none.
 */
export class LimitWatch {
  /** The limit for which it was ended. */
  met: LimitName | undefined;
  /** What kept us from looking, if it was ended for that. */
  failure: unknown;
  #over = false;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  readonly #checks: readonly (readonly [LimitName, LimitCheck])[];
  readonly #end: () => void;

  constructor(checks: readonly (readonly [LimitName, LimitCheck])[], end: () => void) {
    this.#checks = checks;
    this.#end = end;
    if (checks.length > 0) this.#wait(SHORTEST_PAUSE_MS);
  }

  /** The command has ended. */
  async stop(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    await this.#look;
  }

  #wait(milliseconds: number): void {
    this.#timer = setTimeout(() => {
      this.#look = this.#lookAtAll();
    }, milliseconds);
  }

  async #lookAtAll(): Promise<void> {
    const began = performance.now();
    try {
      for (const [name, check] of this.#checks) {
        if (!(await this.#isMet(check))) continue;
        this.met = name;
        this.#end();
        return;
      }
    } catch (thrown) {
      this.failure = thrown;
      this.#end();
      return;
    }
    if (!this.#over) this.#wait(Math.max(SHORTEST_PAUSE_MS, (performance.now() - began) * PAUSE_PER_LOOK));
  }

  /** In short turns, because the command's terminal and streams pass through this process. */
  async #isMet(check: LimitCheck): Promise<boolean> {
    const steps = check();
    if (typeof steps === "boolean") return steps;
    let turnBegan = performance.now();
    for (let step = steps.next(); !this.#over; step = steps.next()) {
      if (step.done === true) return step.value;
      if (performance.now() - turnBegan < LONGEST_TURN_MS) continue;
      await nextTurn();
      turnBegan = performance.now();
    }
    steps.return(false);
    return false;
  }
}

/** Whether what is measured is more than so much. */
export function* isMore(
  measuring: Generator<number, number, undefined>,
  most: number,
): Generator<unknown, boolean> {
  let step = measuring.next();
  for (; step.done !== true && step.value <= most; step = measuring.next()) yield;
  measuring.return(step.value);
  return step.value > most;
}
