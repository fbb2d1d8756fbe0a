import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { messageOf, UsageError } from "../../core/errors/errors.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { type PublishedPort, publishedAddress } from "../../system/network/published-port.ts";
import type { PortLine } from "../policy/ports.ts";
import type { InnerSockets } from "./inner-sockets.ts";
import { relay } from "./relay.ts";

/**
 * Ports of this machine that lead to servers in a command's own network. They listen in this process, so they
 * end with it. A connection that the server inside does not take is reset.
 */
export class PublishedPorts implements Disposable {
  readonly #servers: Server[] = [];
  readonly #open = new Set<Socket>();
  readonly #listening: PublishedPort[] = [];
  #ways: readonly InnerSockets[] = [];

  /** Listens at a port, or fails. Until `lead`, connections are reset. */
  async listen(published: PortLine): Promise<void> {
    const { host, port, inside } = published;
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#track(socket);
      this.#pass(socket, inside, this.#ways);
    });
    this.#servers.push(server);
    try {
      await once(server.listen({ host, port, exclusive: true }), "listening");
    } catch (thrown) {
      throw notPublished(published, thrown);
    }
    // A connection that can't be taken, as when descriptors run out, is its client's to try again.
    server.on("error", () => undefined);
    this.#listening.push({ host, port: (server.address() as AddressInfo).port, inside });
  }

  /** The ports, none of which is 0. */
  get list(): readonly PublishedPort[] {
    return this.#listening;
  }

  /** From now on connections go to the command, by the first of these ways on which its server listens. */
  lead(ways: readonly InnerSockets[]): void {
    this.#ways = ways;
  }

  [Symbol.dispose](): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#open) socket.destroy();
    for (const way of this.#ways) way[Symbol.dispose]();
  }

  #pass(outer: Socket, port: number, [way, ...others]: readonly InnerSockets[]): void {
    if (outer.destroyed) return;
    const inner = way?.connect(port);
    if (inner === undefined) {
      outer.resetAndDestroy();
      return;
    }
    this.#track(inner);
    const tryOthers = () => this.#pass(outer, port, others);
    const giveUp = () => inner.destroy();
    inner.once("close", tryOthers);
    outer.once("close", giveUp);
    inner.once("connect", () => {
      inner.off("close", tryOthers);
      outer.off("close", giveUp);
      relay(outer, inner);
    });
  }

  #track(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // Its end is told by "close".
    socket.on("error", () => undefined);
  }
}

function notPublished(published: PortLine, thrown: unknown): UsageError {
  const why = failedWith(thrown, "EADDRINUSE")
    ? "another program listens there"
    : failedWith(thrown, "EACCES", "EPERM")
      ? "you may not listen there"
      : messageOf(thrown);
  const { from, inside } = published;
  return new UsageError(`${from}: ${publishedAddress(published)} can't be published: ${why}.`, {
    hint: `Choose another port, or 0 for any that is free: 0:${inside}`,
    cause: thrown,
  });
}
