import { setTimeout as sleep } from "node:timers/promises";
import { BusyError } from "../core/errors.ts";

const LOOK_AGAIN_MS = 20;

/** Has a session of a server ended, which `end` does and says whether it was still there; waits until it is not. */
export async function sessionEnds(id: number, patienceMs: number, end: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (await end()) {
    if (performance.now() > deadline)
      throw new BusyError(`Session ${id} of the server does not end.`, { holder: `session ${id}` });
    await sleep(LOOK_AGAIN_MS);
  }
}
