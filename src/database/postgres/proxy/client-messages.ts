import type { MessageFinder } from "../../server/streams/inbox.ts";
import { MessageReader, ProtocolViolation } from "./wire.ts";

export interface ClientMessage {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The server ends its connection, and with it the plan's work, if a message of these types is longer. */
const SHORT = "CDEHScfX";
const LONGEST_SHORT = 10_000;

/** Finds what a client sends. */
export function clientMessages(): MessageFinder<ClientMessage> {
  const reader = new MessageReader("");
  return (bytes, put) => {
    reader.push(bytes, {
      message: (type, whole) => {
        if (SHORT.includes(type) && whole.length > LONGEST_SHORT)
          throw new ProtocolViolation(`a message of type '${type}' is too long`);
        put({ type, bytes: whole }, whole.length);
      },
      piece: () => undefined,
    });
  };
}
