import type { Readable } from "node:stream";
import { InterruptedError } from "../../core/errors/errors.ts";

/** Reads standard input to its end. */
export async function readStandardInput(input: Readable, signal: AbortSignal): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(standardInput(input, signal)));
}

/** Standard input, piece by piece. */
export async function* standardInput(input: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const giveUp = () => void input.destroy(new InterruptedError());
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    for await (const part of input) yield part;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
