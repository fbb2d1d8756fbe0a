import { Socket } from "node:net";
import { closeFile } from "../../system/calls/handles.ts";
import { calls, lazyCalls } from "../../system/calls/native.ts";

const socketCalls = lazyCalls({ connect: "int connect(int fd, const void *address, uint32_t size)" });
/** An address of no family ends the connection of a socket, which can then connect again. */
const NOWHERE = Buffer.alloc(16);
const F_DUPFD_CLOEXEC = 1030;
const LOWEST_DESCRIPTOR = 3;

/**
 * Sockets that the launcher made in a command's own network, where they stay whichever process has them: they
 * connect to servers in there and nowhere else. This process can't make more, so it uses each again.
 */
export class InnerSockets implements Disposable {
  readonly #host: string;
  readonly #all: readonly number[];
  /** The one that has been unused for longest is first: what it sent has had the time to arrive. */
  readonly #free: number[];
  #isClosed = false;

  /** Descriptors of sockets, which it closes, and the address to which they connect. */
  constructor(host: string, sockets: readonly number[]) {
    this.#host = host;
    this.#all = sockets;
    this.#free = [...sockets];
  }

  /** A socket that connects to a port of that address; undefined if all are in use. */
  connect(port: number): Socket | undefined {
    const own = this.#free.shift();
    if (own === undefined) return undefined;
    socketCalls.connect(own, NOWHERE, NOWHERE.length);
    // Node closes its descriptor, which must not be the only one.
    const copy = calls.fcntl(own, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    if (copy < 0) {
      this.#free.unshift(own);
      return undefined;
    }
    const socket = new Socket({ fd: copy, allowHalfOpen: true });
    socket.once("connect", () => socket.setNoDelay());
    socket.once("close", () => this.#takeBack(own, socket));
    return socket.connect({ host: this.#host, port });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const socket of this.#all) closeFile(socket);
  }

  #takeBack(own: number, { readableEnded, writableFinished }: Socket): void {
    if (this.#isClosed) return;
    // The server must hear at once that its connection broke. One that both sides ended needs no more.
    if (!readableEnded || !writableFinished) socketCalls.connect(own, NOWHERE, NOWHERE.length);
    this.#free.push(own);
  }
}
