import type { Socket } from "node:net";
import { type Packet, PacketReader, ProtocolViolation } from "./protocol/wire.ts";

/** One command of a client may have so many bytes. */
const LONGEST = 64 << 20;
/** While more bytes than this wait, the client is not read. */
const MOST_WAITING = 1 << 20;

/** What a client sends, one message after the other. A message may be in several packets. */
export class Inbox {
  readonly #socket: Socket;
  readonly #reader = new PacketReader();
  readonly #waiting: { readonly content: Buffer; readonly sequence: number }[] = [];
  #parts: Buffer[] = [];
  #bytes = 0;
  #isOver = false;
  #failure: unknown;
  #came = Promise.withResolvers<void>();
  readonly #ended = new AbortController();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes) => this.#take(bytes as Buffer));
    for (const event of ["end", "close"]) socket.once(event, () => this.#end());
  }

  /** Aborts when the client is gone. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The next message, with the number of its last packet; undefined if the client is gone. */
  async next(): Promise<{ readonly content: Buffer; readonly sequence: number } | undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined) {
        this.#bytes -= message.content.length;
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
    try {
      this.#reader.push(bytes, (packet) => this.#packet(packet));
    } catch (thrown) {
      this.#failure = thrown;
      this.#socket.pause();
    }
    if (this.#bytes > MOST_WAITING && this.#waiting.length > 0) this.#socket.pause();
    this.#came.resolve();
  }

  #packet({ content, sequence }: Packet): void {
    this.#bytes += content.length;
    this.#parts.push(content);
    if (this.#bytes > LONGEST) throw tooLong();
    if (this.#reader.isInside) return;
    this.#waiting.push({ content: Buffer.concat(this.#parts), sequence });
    this.#parts = [];
  }

  #end(): void {
    this.#isOver = true;
    this.#ended.abort();
    this.#came.resolve();
  }
}

function tooLong(): ProtocolViolation {
  return new ProtocolViolation(`a message has more than ${LONGEST >> 20} MiB`);
}
