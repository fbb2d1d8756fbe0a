import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Long work on files, in steps. Its system calls are synchronous, so it is a generator that yields the number
 * of entries it has handled since the last yield. Between yields the caller can show progress, stop at the
 * user's request, and let the event loop turn.
 */
export type Steps = Generator<number, void, undefined>;

const LONGEST_TURN_MS = 20;

/** Runs the work while letting the event loop turn. `onStep` may throw to stop it. */
export async function runInTurns(steps: Steps, onStep: (entries: number) => void): Promise<void> {
  let turnBegan = performance.now();
  for (const entries of steps) {
    onStep(entries);
    if (performance.now() - turnBegan < LONGEST_TURN_MS) continue;
    await nextTurn();
    turnBegan = performance.now();
  }
}

/** Runs the work in one go. */
export function runAtOnce(steps: Steps): void {
  for (const _ of steps);
}
