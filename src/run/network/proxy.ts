import {
  createServer,
  type IncomingMessage,
  request as newRequest,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "../../core/errors/errors.ts";
import { DeniedError, type NetworkGate, UnreachableError } from "./gate.ts";
import { relay } from "./relay.ts";

/** More connections of one command are dropped. */
const MOST_CONNECTIONS = 512;
const AUTHORITY = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):([0-9]{1,5})$/;
const HTTP_PORT = 80;

/** Headers about one connection, which a proxy keeps to itself; those that `Connection` names are others. */
const OF_CONNECTION = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "host", "expect"],
]);

/**
 * A proxy for one command, in the process of Drydock. It listens at a socket of the command's own network,
 * and asks the gate for every connection. Programs use it by `CONNECT`, or with the whole URL of a plain
 * request.
 *
 * A plain request is read, checked and written anew: its target is that of its URL, whatever its `Host` says,
 * and its end is where our parser sees it. Nothing of a request is kept or logged but its host and port.
 */
export class NetworkProxy implements Disposable {
  readonly #gate: NetworkGate;
  readonly #server: Server;
  readonly #open = new Set<Duplex>();

  /** `listener` is a descriptor of a socket that listens; the proxy closes it. */
  constructor(gate: NetworkGate, listener: number) {
    this.#gate = gate;
    // A long upload is the program's own business.
    this.#server = createServer({ requestTimeout: 0 }, (request, response) => {
      void this.#forward(request, response);
    });
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on("connect", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#tunnel(request, socket, head);
    });
    this.#server.on("connection", (socket: Socket) => this.#track(socket));
    this.#server.listen({ fd: listener });
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }

  #track<Stream extends Duplex>(socket: Stream): Stream {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // Its end is told by "close".
    socket.on("error", () => undefined);
    return socket;
  }

  async #tunnel({ url = "" }: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      const [, six, name, port] = AUTHORITY.exec(url) ?? [];
      const host = six ?? name;
      if (host === undefined) return refuse(socket, 400, "Drydock: CONNECT needs a host and a port.");
      const server = this.#track(await this.#gate.connect(host, Number(port)));
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) server.write(head);
      relay(socket, server);
    } catch (thrown) {
      refuse(socket, statusOf(thrown), messageOf(thrown));
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? "");
    if (url?.protocol !== "http:")
      return answer(response, 400, "Drydock: this is a proxy for other servers.");
    const { hostname, host, pathname, search } = url;
    const port = Number(url.port || HTTP_PORT);
    try {
      const server = this.#track(await this.#gate.connect(hostname.replace(/^\[(.*)\]$/, "$1"), port));
      const { method } = request;
      const headers = ["Host", host, "Connection", "close", ...passedOn(request)];
      if (request.headers["transfer-encoding"] !== undefined) headers.push("Transfer-Encoding", "chunked");
      const outgoing = newRequest({
        ...{ method, path: `${pathname}${search}`, headers, setHost: false },
        createConnection: () => server,
      });
      response.once("close", () => server.destroy());
      response.on("error", () => server.destroy());
      outgoing.once("response", (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.statusMessage, passedOn(reply));
        reply.pipe(response);
        reply.on("error", () => response.destroy());
      });
      outgoing.on("error", (thrown) => answer(response, 502, `Drydock: ${host}: ${messageOf(thrown)}`));
      request.pipe(outgoing);
    } catch (thrown) {
      answer(response, statusOf(thrown), messageOf(thrown));
    }
  }
}

/** No request of a command may end Drydock, so any other error is an answer too. */
function statusOf(thrown: unknown): number {
  if (thrown instanceof DeniedError) return 403;
  return thrown instanceof UnreachableError ? 502 : 500;
}

/** The headers of a message that are for its receiver. */
function passedOn({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const dropped = new Set([...OF_CONNECTION, ...named]);
  return rawHeaders.flatMap((name, at) =>
    at % 2 === 1 || dropped.has(name.toLowerCase()) ? [] : [name, rawHeaders[at + 1] ?? ""],
  );
}

function answer(response: ServerResponse, status: number, sentence: string): void {
  if (response.headersSent) response.destroy();
  // What is left of the request is not read.
  else response.writeHead(status, { "Content-Type": "text/plain", Connection: "close" }).end(`${sentence}\n`);
}

function refuse(socket: Duplex, status: number, sentence: string): void {
  const body = `${sentence}\n`;
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: text/plain",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
