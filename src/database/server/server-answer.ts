import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { DrydockError } from "../../core/errors/errors.ts";
import { answerTooLarge, serverDown } from "./server-errors.ts";

/**
 * Limits the time and the size of a server's answers, so that no broken or hostile server blocks a process
 * for ever or fills its memory.
 *
 * Our own statements have a time limit, and their answers are small. A statement of the user's may run until
 * the user interrupts it, but the size of its answer is limited. Beyond a limit, the server is told to end
 * the statement; if it does not, the connection is cut.
 */
const MOST_BYTES = 32 << 20;
const MOST_BYTES_OF_OWN = 1 << 20;
/** Committing or rolling back a large transaction takes time. */
const SETTLING_MS = 5 * 60_000;
const SETTLES = /^(?:COMMIT|ROLLBACK|PREPARE|XA|CREATE|DROP)\b/;

/** The part of a connection that watching its answers needs. */
export interface AnsweringServer {
  readonly location: string;
  readonly patienceMs: number;
  /** Calls the listener with the number of bytes of each piece that arrives. The result stops that. */
  listen(listener: (bytes: number) => void): () => void;
  /** Pauses or resumes reading. */
  hold(isHeld: boolean): void;
  /** Makes the server end the statement, where that is possible. */
  readonly stop: (() => Promise<void>) | undefined;
  /** Cuts the connection. */
  drop(): void;
}

/**
 * The answer of the server, within the limits. `isOwn` says that the statement is ours and not the user's.
 */
export async function answerTo<T>(
  server: AnsweringServer,
  { sql, isOwn }: { readonly sql: string; readonly isOwn: boolean },
  ask: () => Promise<T>,
): Promise<T> {
  const { location, patienceMs } = server;
  const cut = Promise.withResolvers<never>();
  const mostBytes = isOwn ? MOST_BYTES_OF_OWN : MOST_BYTES;
  let failure: DrydockError | undefined;
  let stopping: Promise<void> = Promise.resolve();
  const drop = (error: DrydockError) => {
    failure ??= error;
    server.drop();
    cut.reject(failure);
  };
  let received = 0;
  const leave = server.listen((bytes) => {
    received += bytes;
    if (received <= mostBytes) return;
    const tooLarge = answerTooLarge(location, mostBytes, isOwn);
    if (server.stop === undefined || isOwn || received > mostBytes * 1.5) drop(tooLarge);
    else if (failure === undefined) {
      failure = tooLarge;
      // A fast server would send far more before it ends the statement.
      server.hold(true);
      stopping = server
        .stop()
        .catch(() => drop(tooLarge))
        .finally(() => server.hold(false));
      setTimeout(() => drop(tooLarge), patienceMs).unref();
    }
  });
  // Twice, because the server itself may wait for others just as long.
  const within = SETTLES.test(sql) ? SETTLING_MS : patienceMs * 2;
  const slow = isOwn ? setTimeout(() => drop(serverDown(location, "it does not answer")), within) : undefined;
  try {
    const answer = await Promise.race([ask(), cut.promise]);
    if (failure !== undefined) throw failure;
    return answer;
  } catch (thrown) {
    throw failure ?? thrown;
  } finally {
    clearTimeout(slow);
    leave();
    // Nothing else may be sent before that, because the server would end it instead.
    await stopping;
  }
}

/** Pauses or resumes reading a stream. */
export function holdStream(stream: Socket, isHeld: boolean): void {
  if (isHeld) stream.pause();
  else stream.resume();
}

/** Counts the bytes of a stream, beside its reader. */
export function listenTo(stream: Socket, listener: (bytes: number) => void): () => void {
  const count = (bytes: Uint8Array) => listener(bytes.length);
  stream.on("data", count);
  return () => stream.off("data", count);
}

/** Ends a connection. Cuts it if the server does not answer in time. */
export async function endWithin(ms: number, end: Promise<unknown>, drop: () => void): Promise<void> {
  const waited = new AbortController();
  const over = end.then(
    () => "ended",
    () => "failed",
  );
  const outcome = await Promise.race([over, sleep(ms, "silent", { signal: waited.signal, ref: false })]);
  waited.abort();
  if (outcome !== "ended") drop();
}
