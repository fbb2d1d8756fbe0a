import type { Socket } from "node:net";

/**
 * Writes what is sent in one go, one message after the other, as one piece: the other side is not woken for
 * each.
 */
export function writeGathered(stream: Socket, bytes: Buffer): boolean {
  if (stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
  return stream.write(bytes);
}
