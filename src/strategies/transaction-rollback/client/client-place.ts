import { UnsupportedError } from "../../../core/errors/errors.ts";
import { parseServerUrl, serverKind } from "../../../database/server/server-url.ts";
import type { ClientPlace } from "../holder-protocol.ts";
import type { RemoteTransaction } from "./remote-transaction.ts";

/** Where a client of PostgreSQL finds the transaction, and what it has to ask for there. */
export interface ClientAddress extends ClientPlace {
  readonly user: string;
  readonly database: string;
}

/** The longest name of a socket, without the zero at its end. */
const LONGEST = 107;

/**
 * Where clients find the transaction; undefined if Drydock does not speak the protocol of the server, or
 * there is no transaction now.
 */
export async function clientPlace(remote: RemoteTransaction): Promise<ClientAddress | undefined> {
  if (serverKind(remote.location) !== "postgres" || remote.record?.state !== "open") return undefined;
  const { clients } = await remote.status();
  if (clients === undefined) return undefined;
  const { user, database } = parseServerUrl(remote.location);
  return { ...clients, user, database };
}

/** A URL that libpq and the drivers of most languages understand. */
export function clientUrl(place: ClientAddress): string {
  const { folder, port, user, database } = place;
  const socket = socketOf(place);
  if (Buffer.byteLength(socket) > LONGEST)
    throw new UnsupportedError(`Clients can't reach the socket ${socket}: its name is too long.`, {
      hint: `Choose a state directory with a shorter path; the name of a socket has at most ${LONGEST} bytes.`,
      code: "NO_PATH",
    });
  const parameters = new URLSearchParams({ host: folder, port: String(port) });
  return `postgresql://${encodeURIComponent(user)}@/${encodeURIComponent(database)}?${parameters}`;
}

function socketOf({ folder, port }: ClientPlace): string {
  return `${folder}/.s.PGSQL.${port}`;
}

/** The variables by which programs find a database; none if its socket can't be reached. */
export function clientVariables(place: ClientAddress): { readonly [name: string]: string } {
  const { folder, port, user, database } = place;
  if (Buffer.byteLength(socketOf(place)) > LONGEST) return {};
  return {
    PGHOST: folder,
    PGPORT: String(port),
    PGUSER: user,
    PGDATABASE: database,
    DATABASE_URL: clientUrl(place),
  };
}
