import { setPriority } from "node:os";
import { createInterface } from "node:readline";
import { CHANNEL_DESCRIPTORS, type ChannelPlace } from "../../run/channel/channel-place.ts";
import { openServices } from "../../runtime.ts";
import { boundMemory } from "../../system/process/own-bounds.ts";
import { serveChannel } from "./channel.ts";

/**
 * The process that answers the commands of one channel. What they make it do costs nobody else: it is nice to
 * other processes, and its memory is bounded. It ends with its standard input, and is killed with the process
 * that started it.
 */
const NICE = 10;
const MOST_BYTES = 2 * 1024 ** 3;

const stop = new AbortController();

async function main(): Promise<void> {
  setPriority(NICE);
  boundMemory(MOST_BYTES);
  const input = createInterface({ input: process.stdin });
  input.once("close", () => stop.abort());
  const place = await new Promise<ChannelPlace>((resolve) =>
    input.once("line", (line) => resolve(JSON.parse(line) as ChannelPlace)),
  );
  const { planId, ...where } = place;
  const services = await openServices({
    ...where,
    command: "drydock channel",
    inside: true,
    signal: stop.signal,
  });
  try {
    await serveChannel({ services, planId, ...CHANNEL_DESCRIPTORS, signal: stop.signal });
  } finally {
    await services.close();
  }
}

/** What keeps it from answering is its caller's to see: the connection ends. */
void main().finally(() => process.exit());
