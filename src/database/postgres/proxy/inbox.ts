import type { Socket } from "node:net";
import { MessageReader, ProtocolViolation } from "./wire.ts";

export interface ClientMessage {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The server ends its connection, and with it the plan's work, if a message of these types is longer. */
const SHORT = "CDEHScfX";
const LONGEST_SHORT = 10_000;

/** While more bytes than this wait, the client is not read. */
const MOST_WAITING = 1 << 20;

/** The messages of a client, one after the other. */
export class Inbox {
  readonly #socket: Socket;
  readonly #reader = new MessageReader("");
  readonly #waiting: ClientMessage[] = [];
  #bytes = 0;
  #isOver = false;
  #failure: unknown;
  #came = Promise.withResolvers<void>();
  readonly #ended = new AbortController();

  constructor(socket: Socket, first: Buffer) {
    this.#socket = socket;
    socket.on("data", (bytes) => this.#take(bytes as Buffer));
    for (const event of ["end", "close"]) socket.once(event, () => this.#end());
    if (first.length > 0) this.#take(first);
  }

  /** Aborts when the client is gone. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The next message; undefined if the client is gone, or once no message is wanted (see `wake`). */
  async next(isWanted: () => boolean = () => true): Promise<ClientMessage | undefined> {
    for (;;) {
      if (!isWanted()) return undefined;
      const message = this.#waiting.shift();
      if (message !== undefined) {
        this.#bytes -= message.bytes.length;
        if (this.#bytes <= MOST_WAITING) this.#socket.resume();
        return message;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isOver) return undefined;
      this.#came = Promise.withResolvers();
      await this.#came.promise;
    }
  }

  /** Makes one that waits for a message ask whether it is still wanted. */
  wake(): void {
    this.#came.resolve();
  }

  #take(bytes: Buffer): void {
    const sink = {
      message: (type: string, whole: Buffer) => {
        if (SHORT.includes(type) && whole.length > LONGEST_SHORT)
          throw new ProtocolViolation(`a message of type '${type}' is too long`);
        this.#waiting.push({ type, bytes: whole });
        this.#bytes += whole.length;
      },
      piece: () => undefined,
    };
    try {
      this.#reader.push(bytes, sink);
    } catch (thrown) {
      this.#failure = thrown;
      this.#socket.pause();
    }
    if (this.#bytes > MOST_WAITING) this.#socket.pause();
    this.#came.resolve();
  }

  #end(): void {
    this.#isOver = true;
    this.#ended.abort();
    this.#came.resolve();
  }
}
