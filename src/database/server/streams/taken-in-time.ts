import type { Socket } from "node:net";
import type { Turns } from "../turns.ts";

const LOOK_MS = 500;

/** What bounds the time that a client takes for an answer. */
export interface TakingTime {
  readonly turns: Turns;
  readonly patienceMs: number;
}

/**
 * Waits until a client has taken what was sent to it, or is gone. One that takes nothing for too long keeps
 * its turn as long as nobody else waits for it; then its connection is cut.
 */
export async function takenInTime(client: Socket, { turns, patienceMs }: TakingTime): Promise<void> {
  if (client.destroyed || !client.writableNeedDrain) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const since = performance.now();
  const look = setInterval(() => {
    if (turns.isWaitedFor && performance.now() - since > patienceMs) client.destroy();
  }, LOOK_MS);
  client.once("drain", resolve);
  client.once("close", resolve);
  await promise;
  client.off("drain", resolve);
  client.off("close", resolve);
  clearInterval(look);
}
