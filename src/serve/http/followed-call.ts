import { setTimeout } from "node:timers/promises";
import type { Progress } from "../../core/strategy.ts";
import type { StreamEvent } from "../operation.ts";

/** How long a client that hears of progress is left alone. */
const PAUSE_MS = 100;

/** Does a client want a stream of events where others get one document? */
export function wantsEvents(accept = ""): boolean {
  return /^\s*text\/event-stream\b/i.test(accept);
}

/**
 * A call as events: now and then its latest progress, and at last `done` with its answer. A client that reads
 * slowly, or stops reading, holds nothing up.
 */
export async function* followedCall(
  call: (onProgress: (progress: Progress) => void) => Promise<unknown>,
): AsyncGenerator<StreamEvent> {
  let news = Promise.withResolvers<void>();
  let latest: Progress | undefined;
  let isOver = false;
  const answer = call((progress) => {
    latest = progress;
    news.resolve();
  });
  const over = answer
    .catch(() => undefined)
    .then(() => {
      isOver = true;
      news.resolve();
    });
  do {
    await news.promise;
    news = Promise.withResolvers();
    if (latest === undefined) continue;
    const data = latest;
    latest = undefined;
    yield { event: "progress", data };
    await Promise.race([over, setTimeout(PAUSE_MS, undefined, { ref: false })]);
  } while (!isOver || latest !== undefined);
  yield { event: "done", data: await answer };
}
