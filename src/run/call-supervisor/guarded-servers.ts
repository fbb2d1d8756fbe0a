import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import {
  parseServerUrl,
  type ServerAddress,
  type ServerKind,
  serverKind,
} from "../../database/server/server-url.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { receiveText } from "../../system/process/passed-descriptor.ts";
import { readIfThere } from "../../system/process/processes.ts";
import { endpointKey, type GuardedServer } from "./server-addresses.ts";

/** Where servers listen if nothing else is said. */
const PORTS: { readonly [kind in ServerKind]: number } = { postgres: 5432, mysql: 3306 };
/** Where servers of this machine have a socket beside their port. */
const SOCKETS: { readonly [kind in ServerKind]: (port: number) => readonly string[] } = {
  postgres: (port) =>
    ["/run/postgresql", "/var/run/postgresql", "/tmp"].map((at) => `${at}/.s.PGSQL.${port}`),
  mysql: () => [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/tmp/mysql.sock",
    "/var/lib/mysql/mysql.sock",
  ],
};
const LOOPBACK = "127.0.0.1";
/** The state of a socket that listens, in the kernel's tables. */
const LISTENS = "0A";

/** A destination that a command wanted to reach, and the resource that is there. */
export interface GuardedRequest {
  readonly resource: string;
  readonly destination: string;
}

/** A resource, and where it is. */
export interface NamedLocation {
  readonly name: string;
  readonly location: string;
}

/** The servers among these resources, with all addresses at which they can be reached from here. */
export async function guardedServers(resources: readonly NamedLocation[]): Promise<readonly GuardedServer[]> {
  const servers: GuardedServer[] = [];
  for (const { name, location } of resources) {
    const kind = serverKind(location);
    if (kind !== undefined)
      servers.push({ resource: name, ...(await reachedAt(parseServerUrl(location), kind)) });
  }
  return servers;
}

async function reachedAt(
  { host, port: given, socket, parameters }: ServerAddress,
  kind: ServerKind,
): Promise<Pick<GuardedServer, "endpoints" | "sockets">> {
  const named = Number(parameters.get("port"));
  const port = given ?? (named > 0 ? named : PORTS[kind]);
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const local = [LOOPBACK, ...own].map((address) => endpointKey(address, port));
  if (socket !== undefined) {
    const path = kind === "postgres" ? `${socket}/.s.PGSQL.${port}` : socket;
    // The same server may listen at a port too.
    return { sockets: [path], endpoints: listensAt(port) ? local : [] };
  }
  const endpoints = (await addressesOf(host)).map((address) => endpointKey(address, port));
  if (!endpoints.some((endpoint) => local.includes(endpoint))) return { sockets: [], endpoints };
  return { sockets: SOCKETS[kind](port), endpoints: [...endpoints, ...local] };
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  if (host === "localhost") return [LOOPBACK];
  const { lookup } = await import("node:dns/promises");
  // A name that leads nowhere leads no command anywhere.
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** Whether a program of this machine listens at a port. */
function listensAt(port: number): boolean {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  const isListening = new RegExp(`^ *\\d+: [0-9A-F]+:${wanted} [0-9A-F]+:[0-9A-F]{4} ${LISTENS} `, "m");
  return ["/proc/net/tcp", "/proc/net/tcp6"].some((file) => isListening.test(readIfThere(file) ?? ""));
}

/** What a command wanted of servers that it can't reach, as its supervisor tells it. */
export class GuardedRequests implements Disposable {
  readonly #socket: number;

  constructor(socket: number) {
    this.#socket = socket;
  }

  /** Reads what was told since. */
  take(): readonly GuardedRequest[] {
    const found: GuardedRequest[] = [];
    for (let line = receiveText(this.#socket); line !== undefined; line = receiveText(this.#socket)) {
      const [resource = "", destination = ""] = line.trimEnd().split("\0");
      found.push({ resource, destination });
    }
    return found;
  }

  [Symbol.dispose](): void {
    closeFile(this.#socket);
  }
}
