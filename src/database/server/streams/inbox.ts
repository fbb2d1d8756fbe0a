import type { Socket } from "node:net";

/** While more bytes than this wait, the client is not read. */
const MOST_WAITING = 1 << 20;

/** Finds messages in what came, and puts each with its size. */
export type MessageFinder<Message> = (bytes: Buffer, put: (message: Message, size: number) => void) => void;

/** The messages of a client, one after the other. */
export class Inbox<Message> {
  readonly #socket: Socket;
  readonly #find: MessageFinder<Message>;
  readonly #waiting: { readonly message: Message; readonly size: number }[] = [];
  #bytes = 0;
  #isOver = false;
  #failure: unknown;
  #came = Promise.withResolvers<void>();
  readonly #ended = new AbortController();

  constructor(socket: Socket, find: MessageFinder<Message>) {
    this.#socket = socket;
    this.#find = find;
    socket.on("data", (bytes) => this.take(bytes as Buffer));
    for (const event of ["end", "close"]) socket.once(event, () => this.#end());
  }

  /** Aborts when the client is gone. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The next message; undefined if the client is gone, or once no message is wanted (see `wake`). */
  async next(isWanted: () => boolean = () => true): Promise<Message | undefined> {
    for (;;) {
      if (!isWanted()) return undefined;
      const first = this.#waiting.shift();
      if (first !== undefined) {
        this.#bytes -= first.size;
        if (this.#bytes <= MOST_WAITING) this.#socket.resume();
        return first.message;
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

  /** Takes what came. */
  take(bytes: Buffer): void {
    try {
      this.#find(bytes, (message, size) => {
        this.#waiting.push({ message, size });
        this.#bytes += size;
      });
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
