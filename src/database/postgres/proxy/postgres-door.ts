import { randomInt } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { failpoint } from "../../../system/failpoints.ts";
import { listenIn } from "../../../system/process/private-socket.ts";
import { isSecret } from "../../../system/secret.ts";
import { type ClientDoor, type ClientDoorParts, clientSocketName } from "../../server/client-unit.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { type ClientParts, ClientSession } from "./client-session.ts";
import { ClientFailure, responseOf } from "./client-units.ts";
import { PlanGuard } from "./plan-guard.ts";
import { ServerSession } from "./server-session.ts";
import { PlanSettings } from "./settings.ts";
import { FirstWords, type SessionWish, settingsOf } from "./startup.ts";
import { type ClientError, errorResponse, message, ProtocolViolation, readyForQuery } from "./wire.ts";

const LISTEN = failpoint("holder.listen");

/** What the server reports to every client when it connects. */
const REPORTED = [
  ...["server_version", "server_encoding", "client_encoding", "is_superuser", "session_authorization"],
  ...["DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings"],
  ...["default_transaction_read_only", "in_hot_standby", "scram_iterations"],
];
const REPORT = `SELECT ${REPORTED.map((name) => `pg_catalog.current_setting('${name}', true)`).join(", ")}`;
/** Settings that could end the connection, and with it the work of the plan. */
const IGNORED = ["idle_in_transaction_session_timeout", "idle_session_timeout", "transaction_timeout"];
const FIRST_WORDS_MS = 10_000;

export interface PostgresDoorParts extends ClientDoorParts {
  readonly connection: PostgresConnection;
  readonly user: string;
  readonly database: string;
  readonly patienceMs: number;
  /** How many savepoints of the plan's checkpoints there are. */
  readonly savepoints: () => number;
  /** Makes the server end the running statement. */
  readonly stop: () => Promise<void>;
}

/**
 * Lets clients of PostgreSQL into the transaction of a plan, by a socket with the name that they look for.
 * The folder of the socket lets in only its user, and the password only who knows the plan: where there are
 * no namespaces, commands of other plans can connect too.
 */
export class PostgresDoor implements ClientDoor {
  readonly #parts: PostgresDoorParts;
  readonly #clientParts: ClientParts;
  readonly #clients = new Map<number, { readonly key: number; readonly session: ClientSession }>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #listener: { close(): void } | undefined;
  #reports: ReadonlyMap<string, string> | undefined;
  #serial = 0;

  private constructor(parts: PostgresDoorParts) {
    this.#parts = parts;
    const { connection, turns, patienceMs, whyClosed, did, stop } = parts;
    const session = new ServerSession(connection);
    const settings = new PlanSettings(session);
    const guard = new PlanGuard(session, parts.savepoints);
    this.#clientParts = { session, turns, settings, guard, patienceMs, whyClosed, did, stop };
    this.#server = createServer({ allowHalfOpen: false }, (socket) => this.#welcome(socket));
  }

  static async open(parts: PostgresDoorParts): Promise<PostgresDoor> {
    const door = new PostgresDoor(parts);
    await door.#listen();
    return door;
  }

  async #listen(): Promise<void> {
    const { folder, port } = this.#parts;
    this.#listener = await listenIn(LISTEN, folder, clientSocketName("postgres", port), this.#server);
  }

  async dismiss(why: string): Promise<void> {
    for (const { session } of this.#clients.values()) session.endWith({ state: "57P01", message: why });
  }

  async close(why: string): Promise<void> {
    this.#listener?.close();
    await this.dismiss(why);
    for (const socket of this.#sockets) socket.destroySoon();
  }

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // A client that is gone gets no answer; that is no error of ours.
    socket.on("error", () => socket.destroy());
    socket.setTimeout(FIRST_WORDS_MS, () => socket.destroy());
    const words = new FirstWords();
    const take = (bytes: Buffer) => {
      try {
        const wish = words.take(bytes, (answer) => socket.write(answer));
        if (wish === undefined) return;
        socket.off("data", take);
        socket.setTimeout(0);
        if (wish.asks === "cancel") this.#cancel(socket, wish);
        else this.#begin(socket, wish);
      } catch (thrown) {
        if (!(thrown instanceof ProtocolViolation)) throw thrown;
        refuse(socket, { state: "08P01", message: thrown.message });
      }
    };
    socket.on("data", take);
  }

  #cancel(socket: Socket, { processId, key }: { readonly processId: number; readonly key: number }): void {
    const client = this.#clients.get(processId);
    if (client?.key !== key) return void socket.destroy();
    // If the server can't be told, the statement ends by itself.
    void client.session
      .cancel()
      .catch(() => undefined)
      .then(() => socket.destroy());
  }

  #begin(socket: Socket, { parameters, password, rest }: SessionWish): void {
    const { user, database, key: wanted } = this.#parts;
    if (!isSecret(password, wanted)) {
      refuse(socket, { state: "28P01", message: "the password is not that of this plan", hint: URL_HINT });
      return;
    }
    const [asUser, asked] = [parameters.get("user"), parameters.get("database") ?? parameters.get("user")];
    const isDatabase = asked === database && !parameters.has("replication");
    if (asUser !== user || !isDatabase) {
      const [state = "", said = ""] =
        asUser === user
          ? ["3D000", `this plan holds the database ${database}`]
          : ["28000", `clients of this plan are the user ${user}`];
      refuse(socket, { state, message: said });
      return;
    }
    const settings = settingsOf(parameters);
    this.#serial += 1;
    const [id, key] = [this.#serial, randomInt(2 ** 31)];
    const prefix = `drydock_${id}_`;
    const name = parameters.get("application_name") || `client ${id}`;
    const session = new ClientSession(socket, rest, { ...this.#clientParts, prefix }, name);
    this.#clients.set(id, { key, session });
    void this.#serve({ id, key, session, name, settings }).catch(() => {
      // What state the session of the plan is in is not known any more: the plan must not go on in it.
      this.#parts.connection.drop();
    });
  }

  async #serve(client: NewClient): Promise<void> {
    const { id, key, session, name } = client;
    try {
      const reports = await this.#introduce(client);
      if (reports === undefined) return;
      const identity = Buffer.alloc(8);
      identity.writeUInt32BE(id, 0);
      identity.writeUInt32BE(key, 4);
      const told = [...reports, ["application_name", name] as const];
      session.answer(
        Buffer.concat([
          message("R", Buffer.alloc(4)),
          ...told.map(([what, value]) => message("S", what, value)),
          message("K", identity),
          readyForQuery("I"),
        ]),
      );
      await session.serve();
    } finally {
      this.#clients.delete(id);
    }
  }

  /** Makes the client's settings; the answer is what to report to it. Undefined if it can't be let in. */
  async #introduce({ session, settings }: NewClient): Promise<ReadonlyMap<string, string> | undefined> {
    const isThere = (name: string, value: string) => this.#reports?.get(name) === value;
    const wanted = new Map(
      [...settings].filter(([name, value]) => !IGNORED.includes(name.toLowerCase()) && !isThere(name, value)),
    );
    if (wanted.size === 0 && this.#reports !== undefined && this.#parts.whyClosed() === undefined)
      return this.#reports;
    const { units } = session;
    try {
      await units.open(undefined, () => session.inbox.ended);
      await units.startWith(wanted);
      const reports = await this.#readReports();
      if (wanted.size === 0) this.#reports = reports;
      await units.undo();
      return reports;
    } catch (thrown) {
      const response = responseOf(thrown);
      if (response !== undefined) await units.undo();
      const error = thrown instanceof ClientFailure ? thrown.error : undefined;
      if (response === undefined && error === undefined) throw thrown;
      session.endWith(error ?? { state: "22023", message: (thrown as Error).message });
      return undefined;
    } finally {
      if (units.isOpen) units.close();
    }
  }

  async #readReports(): Promise<ReadonlyMap<string, string>> {
    const [values = []] = await this.#clientParts.session.control(REPORT);
    const pairs = REPORTED.map((name, at) => [name, values[at] ?? ""] as const);
    return new Map(pairs.filter((_, at) => values[at] !== null));
  }
}

const URL_HINT =
  "The URL that the plan gives for this database has it, and so have commands inside of the plan.";

interface NewClient {
  readonly id: number;
  readonly key: number;
  readonly session: ClientSession;
  readonly name: string;
  readonly settings: ReadonlyMap<string, string>;
}

function refuse(socket: Socket, error: ClientError): void {
  socket.end(errorResponse(error, "FATAL"));
}
