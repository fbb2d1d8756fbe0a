import type { ServerKind } from "./server-url.ts";
import type { StatementEffect } from "./statement-effect.ts";
import type { Turns } from "./turns.ts";

/** A statement that a client ran, as the log of a transaction shows it. */
export interface DoneStatement {
  readonly sql: string;
  readonly effect: StatementEffect;
  readonly rows: number;
  /** The digest of the parameters and the whole result. */
  readonly digest: string;
}

/** What a client did in one transaction of its own, or by a request outside of one, once that is done. */
export interface ClientUnit {
  /** The statements that are in effect. */
  readonly statements: readonly DoneStatement[];
  /** How many bytes are kept to do it again. */
  readonly size: number;
  /** What the driver needs to do it again; why it can't be done again. */
  readonly again: { readonly work: unknown } | { readonly whyNot: string };
}

/** A door by which clients of the server's own protocol come into the held transaction. */
export interface ClientDoor {
  /** Ends the sessions of all clients, with the reason. */
  dismiss(why: string): Promise<void>;
  /** Ends them, and lets nobody in any more. */
  close(why: string): Promise<void>;
}

/** What a door needs. */
export interface ClientDoorParts {
  readonly folder: string;
  /** By which clients name the door: the last part of its socket's name. */
  readonly port: number;
  /** The password of clients. */
  readonly key: string;
  readonly turns: Turns;
  /** Why no client may work now; undefined if it may. */
  readonly whyClosed: () => string | undefined;
  /** Called when a client has done something that stays. */
  readonly did: (unit: ClientUnit) => void;
  /**
   * Called in the turn of a client whose statement has made the server end the whole transaction. Does the
   * work of the plan again; if that can't be, clients may not work any more.
   */
  readonly revive: () => Promise<void>;
}

/** The name of the socket at which clients of a server's own protocol come in. */
export function clientSocketName(kind: ServerKind, port: number): string {
  // Clients of PostgreSQL make the name up from the port; those of MySQL are told the whole path.
  return kind === "postgres" ? `.s.PGSQL.${port}` : `mysql.${port}`;
}

export function clientSocket(place: {
  readonly kind: ServerKind;
  readonly folder: string;
  readonly port: number;
}): string {
  return `${place.folder}/${clientSocketName(place.kind, place.port)}`;
}
