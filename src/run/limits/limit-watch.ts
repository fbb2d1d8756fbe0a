import type { LimitName } from "../../core/values/limits.ts";
import { milliseconds } from "../../system/milliseconds.ts";
import { nextTurn } from "../../system/next-turn.ts";

/** Says whether the limit is met. A check that takes long yields in between. */
export type LimitCheck = () => boolean | Generator<unknown, boolean, undefined>;

const SHORTEST_PAUSE_MS = 100;
/**
 * The pause after a check is this many times as long as the check took, so that checking takes at most a
 * tenth of one processor.
 */
const PAUSE_PER_CHECK = 9;
const LONGEST_TURN_MS = 10;

/**
 * Checks from time to time whether a running command has met a limit, and ends it then. A check that fails
 * ends it too: a limit that can't be enforced is worse than none.
 */
export class LimitWatch {
  /** The limit for which the command was ended. */
  met: LimitName | undefined;
  /** The failure of a check, if the command was ended for that. */
  failure: unknown;
  #over = false;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> = Promise.resolve();
  readonly #checks: readonly (readonly [LimitName, LimitCheck])[];
  readonly #end: () => void;

  constructor(checks: readonly (readonly [LimitName, LimitCheck])[], end: () => void) {
    this.#checks = checks;
    this.#end = end;
    if (checks.length > 0) this.#wait(SHORTEST_PAUSE_MS);
  }

  /** Call this when the command has ended. */
  async stop(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    await this.#checking;
  }

  #wait(milliseconds: number): void {
    this.#timer = setTimeout(() => {
      this.#checking = this.#checkAll();
    }, milliseconds);
  }

  async #checkAll(): Promise<void> {
    const began = milliseconds();
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
    if (!this.#over) this.#wait(Math.max(SHORTEST_PAUSE_MS, (milliseconds() - began) * PAUSE_PER_CHECK));
  }

  /** Works in short turns, because the command's terminal and streams pass through this process. */
  async #isMet(check: LimitCheck): Promise<boolean> {
    const steps = check();
    if (typeof steps === "boolean") return steps;
    let turnBegan = milliseconds();
    for (let step = steps.next(); !this.#over; step = steps.next()) {
      if (step.done === true) return step.value;
      if (milliseconds() - turnBegan < LONGEST_TURN_MS) continue;
      await nextTurn();
      turnBegan = milliseconds();
    }
    steps.return(false);
    return false;
  }
}

/** Whether a measurement exceeds `most`. Stops measuring as soon as it does. */
export function* isMore(
  measuring: Generator<number, number, undefined>,
  most: number,
): Generator<unknown, boolean> {
  let step = measuring.next();
  for (; step.done !== true && step.value <= most; step = measuring.next()) yield;
  measuring.return(step.value);
  return step.value > most;
}
