import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { listenAtSocket } from "../../system/state/service-socket.ts";
import type { App } from "./app.ts";

/** The most connections at once. */
const MOST_CONNECTIONS = 2048;
/** A client sends the head of its request at once. */
const MOST_HEADER_MS = 10_000;
/** How long a client may neither take what waits for it nor send what it announced. */
const MOST_STALL_MS = 60_000;
const LOOK_MS = 5_000;

/** Where a server listens; a descriptor is that of a socket that listens already. */
export type ListenAddress =
  | { readonly socket: string }
  | { readonly host: string; readonly port: number }
  | { readonly descriptor: number };

/** What its clients may do. */
export interface Bounds {
  /** Default: 2,048. */
  readonly connections?: number;
  /** Default: as many as a client likes. */
  readonly requestsOfConnection?: number;
}

/** A server that listens. */
export interface Listening {
  /** The port, if it is not at a socket. */
  readonly port: number | undefined;
  /** Takes a connection that was accepted elsewhere. */
  take(connection: Socket): void;
  /** Takes no more connections, and ends those that wait for a request. */
  stop(): void;
  /** Ends all connections. */
  close(): Promise<void>;
}

export async function listen(app: App, place: ListenAddress, bounds: Bounds = {}): Promise<Listening> {
  const server = createAdaptorServer({
    // biome-ignore lint/suspicious/noExplicitAny: the types of the adapter also allow for HTTP/2
    fetch: (request, env) => app.fetch(request, env as any),
    serverOptions: {
      headersTimeout: MOST_HEADER_MS,
      // Watched by what comes, not by how long it takes: large files take their time.
      requestTimeout: 0,
      connectionsCheckingInterval: LOOK_MS,
    },
  }) as Server;
  server.maxConnections = bounds.connections ?? MOST_CONNECTIONS;
  server.maxRequestsPerSocket = bounds.requestsOfConnection ?? null;
  const watch = new StallWatch(server);
  const folder = "socket" in place ? await listenAtSocket(server, place.socket) : undefined;
  if (!("socket" in place))
    await listenOpenly(server, "descriptor" in place ? { fd: place.descriptor } : place);
  const address = server.address() as AddressInfo | string | null;
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  return {
    port: address === null || typeof address === "string" ? undefined : address.port,
    take: (connection) => void server.emit("connection", connection),
    stop: () => {
      server.close();
      server.closeIdleConnections();
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await closed;
      watch.stop();
      folder?.[Symbol.dispose]();
    },
  };
}

async function listenOpenly(server: Server, where: object): Promise<void> {
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(where, listening.resolve);
  await listening.promise;
  server.off("error", listening.reject);
}

interface Moved {
  readonly bytes: number;
  readonly at: number;
}

/** Cuts off clients that neither read what waits for them nor send the rest of a request. */
class StallWatch {
  readonly #moved = new Map<Socket, Moved>();
  readonly #requests = new Map<Socket, IncomingMessage>();
  readonly #timer: NodeJS.Timeout;

  constructor(server: Server) {
    server.on("connection", (socket) => {
      this.#moved.set(socket, { bytes: 0, at: performance.now() });
      socket.once("close", () => {
        this.#moved.delete(socket);
        this.#requests.delete(socket);
      });
    });
    server.on("request", (incoming) => this.#requests.set(incoming.socket, incoming));
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Whether the rest of a request is missing, and not because we are slow to take it. */
  #waitsFor(socket: Socket): boolean {
    const incoming = this.#requests.get(socket);
    return incoming !== undefined && !incoming.complete && incoming.readableLength === 0;
  }

  #look(): void {
    const now = performance.now();
    for (const [socket, { bytes, at }] of this.#moved) {
      const moved = socket.bytesRead + socket.bytesWritten - socket.writableLength;
      const waits = socket.writableLength > 0 || this.#waitsFor(socket);
      if (moved !== bytes || !waits) this.#moved.set(socket, { bytes: moved, at: now });
      else if (now - at > MOST_STALL_MS) socket.destroy();
    }
  }
}
