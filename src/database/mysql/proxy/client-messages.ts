import type { MessageFinder } from "../../server/streams/inbox.ts";
import { PacketReader, ProtocolViolation } from "./protocol/wire.ts";

/** One command of a client may have so many bytes. */
const LONGEST = 64 << 20;

/** A message, which may have come in several packets, with the number of the last one. */
export interface ClientMessage {
  readonly content: Buffer;
  readonly sequence: number;
}

/** Finds what a client sends. */
export function clientMessages(): MessageFinder<ClientMessage> {
  const reader = new PacketReader();
  let parts: Buffer[] = [];
  let size = 0;
  return (bytes, put) => {
    reader.push(bytes, ({ content, sequence }) => {
      parts.push(content);
      size += content.length;
      if (size > LONGEST) throw new ProtocolViolation(`a message has more than ${LONGEST >> 20} MiB`);
      if (reader.isInside) return;
      put({ content: Buffer.concat(parts), sequence }, size);
      parts = [];
      size = 0;
    });
  };
}
