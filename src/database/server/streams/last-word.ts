import type { Socket } from "node:net";

/** So long a client has to take our last word. */
const LAST_WORD_MS = 1000;

/** Ends the connection of a client with a last word. */
export function sayLastWord(client: Socket, bytes: Buffer): void {
  if (client.writable) client.end(bytes);
  client.destroySoon();
  // A client that takes nothing must not keep its turn.
  setTimeout(() => client.destroy(), LAST_WORD_MS).unref();
}
