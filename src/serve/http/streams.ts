import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import type { ByteAnswer, StreamEvent } from "../operation.ts";
import type { Problem } from "./problem.ts";

/** Tells both sides now and then that a silent stream goes on. */
const BEAT_MS = 15_000;

/** Sends bytes as they come. A failure on the way cuts the answer off: no client takes it as whole. */
export async function sendBytes(
  { content, status = 200, headers = {} }: ByteAnswer,
  type: string,
  outgoing: ServerResponse,
): Promise<void> {
  const pieces = content[Symbol.asyncIterator]();
  // The first piece comes before the status: what is wrong from the beginning gets an answer of its own.
  const first = await pieces.next();
  outgoing.writeHead(status, { "content-type": type, ...headers });
  await sent(asBytes(first, pieces), outgoing);
}

async function* asBytes(
  first: IteratorResult<Uint8Array | string>,
  pieces: AsyncIterator<Uint8Array | string>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let piece = first; piece.done !== true; piece = await pieces.next())
      yield typeof piece.value === "string" ? bytesFromPath(piece.value) : piece.value;
  } finally {
    await pieces.return?.();
  }
}

/** Sends events as they come. A failure on the way is the last event, `problem`. */
export async function sendEvents(
  events: AsyncIterable<StreamEvent>,
  outgoing: ServerResponse,
  problemOf: (thrown: unknown) => Problem,
): Promise<void> {
  outgoing.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  outgoing.flushHeaders();
  const beat = setInterval(() => {
    if (!outgoing.writableNeedDrain && !outgoing.writableEnded) outgoing.write(":\n\n");
  }, BEAT_MS);
  try {
    await sent(asText(events, problemOf), outgoing);
  } finally {
    clearInterval(beat);
  }
}

async function* asText(
  events: AsyncIterable<StreamEvent>,
  problemOf: (thrown: unknown) => Problem,
): AsyncGenerator<string> {
  try {
    for await (const event of events) yield eventText(event);
  } catch (thrown) {
    yield eventText({ event: "problem", data: problemOf(thrown) });
  }
}

function eventText({ event, id, data }: StreamEvent): string {
  const name = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${name}data: ${JSON.stringify(data)}\n\n`;
}

/** A client that goes away, or is cut off, is no failure of ours. */
async function sent(content: AsyncIterable<unknown>, outgoing: ServerResponse): Promise<void> {
  try {
    await pipeline(Readable.from(content, { objectMode: true, highWaterMark: 1 }), outgoing);
  } catch (thrown) {
    outgoing.destroy();
    if (!outgoing.headersSent) throw thrown;
  }
}
