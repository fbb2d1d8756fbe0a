import { connect, createServer, type Server, type Socket } from "node:net";
import { sharedTime } from "./shared-time.ts";

/** How long a server may take to close a connection whose client is gone. */
const LIMIT_MS = 30_000;

/** The address of a server: a port, or a local socket. */
export type ServerAddress = { readonly host: string; readonly port: number } | { readonly path: string };

/** A client's connection, paired with the connection to the server that forwards it. */
interface Passage {
  readonly toServer: Socket;
  /** Whether the gate may hold bytes of this connection. */
  isWatched: boolean;
  /** Bytes that the client has sent and the server has not received; undefined while everything passes. */
  held: Buffer[] | undefined;
}

/**
 * A gate between a strategy and its server, for cases about requests that arrive late: a network, a proxy or
 * the server's own queue can deliver a request long after its client was killed. The gate listens on loopback
 * and forwards everything until it is told to hold. Held bytes reach the server on release, though the client
 * is gone.
 *
 * @example
 * ```ts
 * import { RequestGate } from "drydock-sandbox/testing";
 *
 * await using gate = await RequestGate.open({ host: "127.0.0.1", port: 5432 });
 * console.log(`postgres://127.0.0.1:${gate.port}/test`);
 * ```
 */
export class RequestGate implements AsyncDisposable {
  readonly #server: Server;
  readonly #to: ServerAddress;
  readonly #passages = new Set<Passage>();
  readonly #passedAt: number[] = [];
  #holdsWhen: ((sent: Uint8Array) => boolean) | undefined;
  #isHolding = false;
  #onHeld: () => void = () => undefined;
  #untilRelease = Number.POSITIVE_INFINITY;
  /** A release under way. Everything that comes later waits for it. */
  #releasing: Promise<void> = Promise.resolve();

  private constructor(server: Server, to: ServerAddress) {
    this.#server = server;
    this.#to = to;
  }

  /** Opens a gate to a server, on a free port of loopback or on the given local socket. */
  static async open(to: ServerAddress, at?: string): Promise<RequestGate> {
    const server = createServer({ allowHalfOpen: true });
    const gate = new RequestGate(server, to);
    server.on("connection", (client) => gate.#admit(client));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server
      .once("error", reject)
      .listen(at === undefined ? { host: "127.0.0.1", port: 0 } : { path: at }, resolve);
    await promise;
    return gate;
  }

  /** The port of 127.0.0.1 on which it listens. */
  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string")
      throw new Error("The gate is closed, or has no port.");
    return address.port;
  }

  /** The times, by sharedTime(), at which bytes of clients were forwarded. */
  get passedAt(): readonly number[] {
    return this.#passedAt;
  }

  /**
   * Holds everything from the first bytes for which `isTime` returns true: on connections that begin from now
   * on, or on all. Resolves when the gate holds something.
   */
  async holdWhen(isTime: (sent: Uint8Array) => boolean, which: "new" | "all" = "new"): Promise<void> {
    if (which === "all") for (const passage of this.#passages) passage.isWatched = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#holdsWhen = isTime;
    this.#onHeld = resolve;
    await promise;
  }

  /**
   * Lets other connections pass again. Held bytes stay held until `release`, or until `atMost` messages have
   * passed.
   */
  admitOthers(atMost = Number.POSITIVE_INFINITY): void {
    this.#holdsWhen = undefined;
    this.#isHolding = false;
    this.#untilRelease = atMost;
  }

  /** Delivers the held bytes as if their client were there. Resolves when the server has answered them. */
  async release(): Promise<void> {
    this.admitOthers();
    const late = [...this.#passages].filter(({ held }) => held !== undefined);
    const before = this.#releasing;
    this.#releasing = Promise.all([before, ...late.map((passage) => deliver(passage))]).then(() => undefined);
    await this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    for (const { toServer } of this.#passages) toServer.destroy();
    await promise;
  }

  #admit(client: Socket): void {
    const toServer = connect({ ...this.#to, allowHalfOpen: true });
    const passage: Passage = {
      toServer,
      isWatched: this.#holdsWhen !== undefined,
      held: this.#isHolding ? [] : undefined,
    };
    this.#passages.add(passage);
    client.on("data", (bytes: Buffer) => this.#take(passage, bytes));
    client.on("end", () => void this.#afterRelease(() => passage.held ?? toServer.end()));
    client.on("close", () => passage.held ?? toServer.destroy());
    toServer.on("data", (bytes: Buffer) => client.writable && client.write(bytes));
    toServer.on("end", () => client.end());
    toServer.on("close", () => {
      this.#passages.delete(passage);
      client.destroy();
    });
    // Killed clients and closed connections are expected here.
    for (const socket of [client, toServer]) socket.on("error", () => socket.destroy());
  }

  #take(passage: Passage, bytes: Buffer): void {
    if (passage.isWatched && !this.#isHolding && this.#holdsWhen?.(bytes) === true) {
      this.#isHolding = true;
      for (const each of this.#passages) if (each.isWatched) each.held ??= [];
    }
    if (passage.held !== undefined) {
      passage.held.push(bytes);
      this.#onHeld();
      return;
    }
    if (this.#untilRelease === 0) void this.release();
    this.#untilRelease -= 1;
    void this.#afterRelease(() => {
      this.#passedAt.push(sharedTime());
      passage.toServer.write(bytes);
    });
  }

  async #afterRelease(act: () => void): Promise<void> {
    await this.#releasing;
    act();
  }
}

/**
 * Delivers and half-closes: a server answers everything that it received before it closes such a connection.
 */
async function deliver(passage: Passage): Promise<void> {
  const { toServer, held = [] } = passage;
  if (toServer.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  toServer.once("close", () => resolve());
  const timer = setTimeout(() => toServer.destroy(), LIMIT_MS);
  passage.held = undefined;
  for (const bytes of held) toServer.write(bytes);
  toServer.end();
  await promise;
  clearTimeout(timer);
}
