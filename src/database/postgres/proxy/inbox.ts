import type { Socket } from "node:net";
import { MessageReader } from "./wire.ts";

export interface ClientMessage {
  readonly type: string;
  readonly bytes: Buffer;
}

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

  /** The next message; undefined if the client is gone. */
  async next(): Promise<ClientMessage | undefined> {
    for (;;) {
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

  #take(bytes: Buffer): void {
    const sink = {
      message: (type: string, whole: Buffer) => {
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
