import type { Readable } from "node:stream";
import { InterruptedError } from "../../core/errors/errors.ts";

/** Reads standard input to its end. */
export async function readStandardInput(input: Readable, signal: AbortSignal): Promise<Uint8Array> {
  const giveUp = () => void input.destroy(new InterruptedError());
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    const parts: Uint8Array[] = [];
    for await (const part of input) parts.push(part);
    return Buffer.concat(parts);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
