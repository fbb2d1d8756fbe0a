import { UnsupportedError } from "../../../core/errors/errors.ts";
import { clientSocket } from "../../../database/server/client-unit.ts";
import { parseServerUrl, type ServerKind, serverKind } from "../../../database/server/server-url.ts";
import type { ClientPlace } from "../holder-protocol.ts";
import type { RemoteTransaction } from "./remote-transaction.ts";

/** Where a client of the server's own protocol finds the transaction, and what it has to ask for there. */
export interface ClientAddress extends ClientPlace {
  readonly kind: ServerKind;
  readonly user: string;
  readonly database: string;
}

/** The longest name of a socket, without the zero at its end. */
const LONGEST = 107;
/**
 * A client of MySQL that does not know the parameter for a socket would go to the usual port, where the
 * database itself may be. At this port there is nothing.
 */
const NO_PORT = "1";

/** Where clients find the transaction; undefined if there is none now. */
export async function clientPlace(remote: RemoteTransaction): Promise<ClientAddress | undefined> {
  const kind = serverKind(remote.location);
  if (kind === undefined || remote.record?.state !== "open") return undefined;
  const { clients } = await remote.status();
  if (clients === undefined) return undefined;
  const { user, database } = parseServerUrl(remote.location);
  return { ...clients, kind, user, database };
}

/** A URL that the drivers of most languages understand. */
export function clientUrl(place: ClientAddress): string {
  const socket = clientSocket(place);
  if (isTooLong(socket))
    throw new UnsupportedError(`Clients can't reach the socket ${socket}: its name is too long.`, {
      hint: `Choose a state directory with a shorter path; the name of a socket has at most ${LONGEST} bytes.`,
      code: "NO_PATH",
    });
  const { kind, folder, port, key } = place;
  const [user, database] = [encodeURIComponent(place.user), encodeURIComponent(place.database)];
  if (kind === "postgres")
    return `postgresql://${user}:${key}@/${database}?${new URLSearchParams({ host: folder, port: String(port) })}`;
  // Some drivers know one of these names, and some the other.
  const parameters = new URLSearchParams({ socket, socketPath: socket });
  return `mysql://${user}:${key}@localhost:${NO_PORT}/${database}?${parameters}`;
}

/** The variables by which programs find a database; none if its socket can't be reached. */
export function clientVariables(place: ClientAddress): { readonly [name: string]: string } {
  const { kind, folder, port, key, user, database } = place;
  const socket = clientSocket(place);
  if (isTooLong(socket)) return {};
  const url = { DATABASE_URL: clientUrl(place) };
  if (kind === "postgres")
    return {
      PGHOST: folder,
      PGPORT: String(port),
      PGUSER: user,
      PGDATABASE: database,
      PGPASSWORD: key,
      ...url,
    };
  return {
    ...{ MYSQL_UNIX_PORT: socket, MYSQL_HOST: "localhost", MYSQL_TCP_PORT: NO_PORT },
    ...{ MYSQL_USER: user, MYSQL_PWD: key, MYSQL_DATABASE: database },
    ...url,
  };
}

function isTooLong(socket: string): boolean {
  return Buffer.byteLength(socket) > LONGEST;
}
