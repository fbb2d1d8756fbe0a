import type { MysqlObjects } from "../mysql-objects.ts";
import type { PlanParts } from "./client-units.ts";
import type { Login } from "./protocol/handshake.ts";
import type { ClientSettings } from "./settings.ts";

/** What the session of a client needs. */
export interface ClientParts extends PlanParts {
  readonly isMaria: boolean;
  readonly version: number;
  /** The server ends the connection, and with it the work of the plan, if a command has so many bytes. */
  readonly longest: number;
  /** Prepared statements of the server that no client needs any more. */
  readonly oldStatements: number[];
  /** Makes the server end the running statement. */
  readonly stop: () => Promise<void>;
  /** Ends what another client runs, or its session; false if there is no such client. */
  readonly kill: (id: number, session: boolean) => Promise<boolean>;
  readonly objects: MysqlObjects;
  /** Settings of a client that has begun anew. */
  readonly settingsOf: (login: Login) => ClientSettings;
}
