import { fileIdentity } from "../../system/data/existence.ts";
import type { CallNotice, CallNotices } from "../../system/launch/call-notices.ts";
import { destinationOf, endpointKey, type GuardedServer } from "./server-addresses.ts";

const EACCES = 13;
/** The longest `struct sockaddr` that counts. */
const LONGEST = 128n;

/**
 * Keeps a command from database servers themselves whose databases its plan holds: a tool with their address
 * in its settings would go around the plan. It looks at what a program gives `connect`, right before the
 * kernel does. A program that is written to get past it can change that in between: this keeps tools on the
 * way, and is no wall.
 */
export class ConnectGuard {
  readonly #endpoints = new Map<string, string>();
  readonly #sockets: readonly {
    readonly path: string;
    readonly file: string | undefined;
    readonly resource: string;
  }[];
  readonly #tell: (line: string) => void;
  readonly #told = new Set<string>();

  /** `tell` is called for each destination that a program wanted, once. */
  constructor(servers: readonly GuardedServer[], tell: (line: string) => void) {
    this.#tell = tell;
    for (const { endpoints, resource } of servers)
      for (const endpoint of endpoints) this.#endpoints.set(endpoint, resource);
    this.#sockets = servers.flatMap(({ sockets, resource }) =>
      sockets.map((path) => ({ path, resource, file: fileIdentity(path) })),
    );
  }

  /** The error number for a call; undefined if the kernel is to answer it. */
  answerTo(notices: CallNotices, notice: CallNotice): number | undefined {
    const [, address = 0n, length = 0n] = notice.args;
    const wanted = length & 0xffff_ffffn;
    const bytes = notices.read(notice, address, Number(wanted < LONGEST ? wanted : LONGEST));
    const destination = bytes && destinationOf(bytes);
    if (destination === undefined) return undefined;
    const isPath = "path" in destination;
    const resource = isPath
      ? this.#socketAt(notice, destination.path)
      : this.#endpoints.get(endpointKey(destination.address, destination.port));
    if (resource === undefined) return undefined;
    const shown = isPath ? destination.path : `${destination.address} port ${destination.port}`;
    const line = `${resource}\0${shown}`;
    if (!this.#told.has(line)) this.#tell(line);
    this.#told.add(line);
    return EACCES;
  }

  #socketAt({ thread }: CallNotice, path: string): string | undefined {
    if (this.#sockets.length === 0) return undefined;
    const start = path.startsWith("/") ? `/proc/${thread}/root` : `/proc/${thread}/cwd/`;
    // What can't be looked at can't be connected to either.
    const file = fileIdentity(`${start}${path}`);
    return this.#sockets.find((each) => each.path === path || (file !== undefined && each.file === file))
      ?.resource;
  }
}
