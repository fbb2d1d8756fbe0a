import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { DrydockError } from "../../core/errors/errors.ts";
import { answerTooLarge, serverDown } from "./server-errors.ts";

/**
 * How long a server may take for an answer, and how much may come: no server, broken or hostile, holds
 * anybody up for ever or fills the memory.
 *
 * Our own statements have a time and are small. A statement of the user's may take as long as it does, until
 * somebody interrupts it; what it gives has a limit. Where a limit is passed the server is told to end the
 * statement, and if it does not, the connection is cut.
 */
const MOST_BYTES = 32 << 20;
const MOST_BYTES_OF_OWN = 1 << 20;
/** Landing or taking back a large transaction takes its time. */
const SETTLING_MS = 5 * 60_000;
const SETTLES = /^(?:COMMIT|ROLLBACK|PREPARE|XA|CREATE|DROP)\b/;

/** A connection, as far as its answers are watched. */
export interface AnsweringServer {
  readonly location: string;
  readonly patienceMs: number;
  /** Calls the listener with the number of bytes that come, until what it returns is called. */
  listen(listener: (bytes: number) => void): () => void;
  /** Lets nothing more come, or lets it come again. */
  hold(isHeld: boolean): void;
  /** Has the server end the statement, where there is a way. */
  readonly stop: (() => Promise<void>) | undefined;
  /** Cuts the connection. */
  drop(): void;
}

/** What the server answers, within the limits. `isOwn` says that the statement is none of the user's. */
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
      // A fast server would have sent far more by the time that it is told.
      server.hold(true);
      stopping = server
        .stop()
        .catch(() => drop(tooLarge))
        .finally(() => server.hold(false));
      setTimeout(() => drop(tooLarge), patienceMs).unref();
    }
  });
  // Twice: for as long as it is patient, the server itself may wait for others.
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
    // Nothing else may be sent before: it would be what is ended.
    await stopping;
  }
}

/** Stops or goes on with reading a stream. */
export function holdStream(stream: Socket, isHeld: boolean): void {
  if (isHeld) stream.pause();
  else stream.resume();
}

/** Counts what comes through a stream, beside who reads it. */
export function listenTo(stream: Socket, listener: (bytes: number) => void): () => void {
  const count = (bytes: Uint8Array) => listener(bytes.length);
  stream.on("data", count);
  return () => stream.off("data", count);
}

/** Ends a connection. A server that does not answer is not waited for. */
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
