import { milliseconds } from "../../system/milliseconds.ts";
import { nextTurn } from "../../system/next-turn.ts";

/**
 * Long work on files, in steps. Its system calls are synchronous, so it is a generator that yields the number
 * of entries it has handled since the last yield. Between yields the caller can show progress, stop at the
 * user's request, and let the event loop turn, without which Node notices no signal.
 */
export type Steps<Result = void> = Generator<number, Result, undefined>;

const LONGEST_TURN_MS = 20;

/**
 * Runs the work while letting the event loop turn. `onStep` may throw to stop it: `using` then ends the work,
 * which closes what it has open.
 */
export async function runInTurns<Result>(
  steps: Steps<Result>,
  onStep: (entries: number) => void,
): Promise<Result> {
  using work = steps;
  let turnBegan = milliseconds();
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    onStep(step.value);
    if (milliseconds() - turnBegan < LONGEST_TURN_MS) continue;
    await nextTurn();
    turnBegan = milliseconds();
  }
}

/** Runs the work in one go. `onStep` may throw to stop it. */
export function runAtOnce<Result>(steps: Steps<Result>, onStep?: (entries: number) => void): Result {
  using work = steps;
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    onStep?.(step.value);
  }
}
