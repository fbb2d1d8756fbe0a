import { addAbortSignal, type Readable } from "node:stream";
import { InterruptedError } from "../core/errors.ts";

/** Everything that standard input has, to its end. */
export async function readStandardInput(input: Readable, signal: AbortSignal): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of addAbortSignal(signal, input)) parts.push(part);
  } catch (thrown) {
    if (signal.aborted) throw new InterruptedError(undefined, { cause: thrown });
    throw thrown;
  }
  return Buffer.concat(parts);
}
