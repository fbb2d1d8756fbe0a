import { randomBytes } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { failpoint } from "../../../system/failpoints.ts";
import { listenIn } from "../../../system/process/private-socket.ts";
import { type ClientDoor, type ClientDoorParts, clientSocketName } from "../../server/client-unit.ts";
import { Inbox } from "../../server/streams/inbox.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { type ClientMessage, clientMessages } from "./client-messages.ts";
import type { ClientParts } from "./client-parts.ts";
import { ClientSession } from "./client-session.ts";
import { ClientFailure, PlanGuard } from "./client-units.ts";
import {
  CAPABILITY,
  ENOUGH,
  greeting,
  type Login,
  loginFrom,
  NATIVE,
  proves,
  SHA2,
  switchRequest,
} from "./protocol/handshake.ts";
import {
  type ClientError,
  errorContent,
  okContent,
  ProtocolViolation,
  packets,
  STATUS,
} from "./protocol/wire.ts";
import { ServerSession } from "./server-session.ts";
import { ClientSettings, SessionSettings } from "./settings.ts";
import { CLIENT_CHARACTER_SET, SQL_MODE, whyNotWritten } from "./statements/character-sets.ts";

const LISTEN = failpoint("holder.listen");
const FIRST_WORDS_MS = 10_000;
const SALT_LENGTH = 20;
const CHARACTER_SETS = ["character_set_client", "character_set_connection", "character_set_results"] as const;
const WRONG_PASSWORD: ClientError = {
  ...{ code: 1045, state: "28000" },
  message:
    "the password is not that of this plan; the URL that the plan gives for this database has it, and so have commands inside of the plan",
};

export interface MysqlDoorParts
  extends ClientDoorParts,
    Pick<ClientParts, "isMaria" | "stop" | "objects" | "patienceMs"> {
  readonly connection: MysqlConnection;
  readonly database: string;
}

/**
 * Lets clients of MySQL and MariaDB into the transaction of a plan. The folder of the socket lets in only its
 * user, and the password only who knows the plan: where there are no namespaces, commands of other plans can
 * connect too. By whatever name a client comes, it works as the user of the plan.
 */
export class MysqlDoor implements ClientDoor {
  readonly #parts: MysqlDoorParts;
  readonly #clientParts: ClientParts;
  readonly #collations: ReadonlyMap<number, readonly [characterSet: string, collation: string]>;
  readonly #mode: string;
  readonly #clients = new Map<number, ClientSession>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #listener: { close(): void } | undefined;
  #serial = 0;

  private constructor(parts: MysqlDoorParts, facts: DoorFacts) {
    this.#parts = parts;
    this.#collations = facts.collations;
    this.#mode = facts.mode;
    const { connection, turns, patienceMs, whyClosed, did, stop, isMaria, objects, revive } = parts;
    const session = new ServerSession(connection);
    this.#clientParts = {
      ...{ session, turns, patienceMs, whyClosed, did, stop, isMaria, objects, revive },
      settings: new SessionSettings(facts.own, parts.database),
      guard: new PlanGuard(),
      longest: facts.longest,
      version: versionNumber(connection.serverVersion),
      oldStatements: [],
      kill: (id, isSession) => this.#kill(id, isSession),
      settingsOf: (login) => this.#settingsOf(login),
    };
    this.#server = createServer({ allowHalfOpen: false }, (socket) => this.#welcome(socket));
  }

  static async open(parts: MysqlDoorParts): Promise<MysqlDoor> {
    const door = new MysqlDoor(parts, await doorFacts(parts.connection));
    await door.#listen();
    return door;
  }

  async #listen(): Promise<void> {
    const { folder, port } = this.#parts;
    this.#listener = await listenIn(LISTEN, folder, clientSocketName("mysql", port), this.#server);
  }

  /** Called before others than clients use the connection, which is in their turn then. */
  async settle(): Promise<void> {
    const { session, settings, guard } = this.#clientParts;
    session.begin();
    try {
      await settings.switchTo(session, undefined);
      await guard.move(session);
    } finally {
      session.end();
    }
  }

  /** Called when a transaction is about to begin. */
  async beginAnew(): Promise<void> {
    const { session, settings, guard } = this.#clientParts;
    guard.reset();
    session.begin();
    try {
      await settings.switchTo(session, undefined);
    } finally {
      session.end();
    }
  }

  async dismiss(why: string): Promise<void> {
    for (const session of this.#clients.values())
      session.endWith({ code: 1927, state: "70100", message: why });
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
    this.#serial += 1;
    void this.#serve(socket, this.#serial).catch(() => {
      // What state the session of the plan is in is not known any more: the plan must not go on in it.
      this.#parts.connection.drop();
    });
  }

  async #serve(socket: Socket, id: number): Promise<void> {
    const inbox = new Inbox(socket, clientMessages());
    const { login, sequence } = (await this.#greet(socket, inbox, id)) ?? {};
    if (login === undefined || sequence === undefined) return;
    socket.setTimeout(0);
    const { attributes } = login;
    const program = attributes.get("program_name") ?? attributes.get("_client_name");
    const name = program === undefined ? `client ${id}` : `${program} (client ${id})`;
    const session = new ClientSession(socket, inbox, this.#clientParts, login, name);
    this.#clients.set(id, session);
    try {
      const error = await this.#whyNotIn(session);
      if (error !== undefined) return void socket.end(packets(errorContent(error), sequence));
      socket.write(packets(okContent({ status: STATUS.autocommit }), sequence));
      await session.serve();
    } finally {
      this.#clients.delete(id);
    }
  }

  /** The handshake; the answer to it has the number `sequence`. Undefined if the client is not let in. */
  async #greet(
    socket: Socket,
    inbox: Inbox<ClientMessage>,
    id: number,
  ): Promise<{ readonly login: Login; readonly sequence: number } | undefined> {
    const { serverVersion: version, hasExtendedMetadata } = this.#parts.connection;
    const salt = saltBytes();
    socket.write(packets(greeting({ version, id, salt, hasExtendedMetadata }), 0));
    let sequence = 2;
    const refuse = (error: ClientError) => void socket.end(packets(errorContent(error), sequence));
    try {
      const first = await inbox.next();
      if (first === undefined) return undefined;
      const login = loginFrom(first.content);
      const proved = await this.#proof(socket, inbox, salt, { ...login, sequence: first.sequence });
      sequence = proved.sequence;
      if (!proves(proved.method, proved.proof, this.#parts.key, salt)) return refuse(WRONG_PASSWORD);
      if (proved.method === SHA2) {
        socket.write(packets(ENOUGH, sequence));
        sequence += 1;
      }
      return { login, sequence };
    } catch (thrown) {
      if (!(thrown instanceof ProtocolViolation)) throw thrown;
      return refuse({ code: 1043, state: "08S01", message: thrown.message });
    }
  }

  /** The client's proof by a method that is known here. */
  async #proof(
    socket: Socket,
    inbox: Inbox<ClientMessage>,
    salt: Buffer,
    { method, proof, sequence }: Pick<Login, "method" | "proof"> & { readonly sequence: number },
  ) {
    // A client without a password proves nothing by this method, and is not asked twice.
    if ((method === NATIVE || method === SHA2) && proof.length > 1)
      return { method, proof, sequence: sequence + 1 };
    socket.write(packets(switchRequest(salt), sequence + 1));
    const second = await inbox.next();
    if (second === undefined) throw new ProtocolViolation("the client is gone");
    return { method: NATIVE, proof: second.content, sequence: second.sequence + 1 };
  }

  /** A client may ask for another database than the plan's; whether it exists, only the server knows. */
  async #whyNotIn({ units, inbox }: ClientSession): Promise<ClientError | undefined> {
    const why = this.#parts.whyClosed();
    if (why !== undefined) return { code: 1927, state: "70100", message: why };
    const characterSet = units.settings.variables.get(CLIENT_CHARACTER_SET);
    const refused = characterSet === undefined ? undefined : whyNotWritten(characterSet);
    if (refused !== undefined) return refused;
    if (units.settings.database === undefined) return undefined;
    try {
      await units.open(inbox.ended);
      units.close();
      return undefined;
    } catch (thrown) {
      if (thrown instanceof ClientFailure) return thrown.error;
      throw thrown;
    }
  }

  async #kill(id: number, isSession: boolean): Promise<boolean> {
    const client = this.#clients.get(id);
    if (client === undefined) return false;
    // If the server can't be told, the statement ends by itself.
    await client.cancel().catch(() => undefined);
    if (isSession) client.endWith({ code: 1927, state: "70100", message: "Connection was killed" });
    return true;
  }

  /** What a client asks for when it connects. */
  #settingsOf({ characterSet, capabilities, database }: Login): ClientSettings {
    const [name, collation] = this.#collations.get(characterSet) ?? [];
    const variables = new Map<string, string>();
    if (name !== undefined) {
      for (const variable of CHARACTER_SETS) variables.set(variable, `'${name}'`);
      variables.set("collation_connection", `'${collation}'`);
    }
    if ((capabilities & CAPABILITY.ignoreSpace) !== 0)
      variables.set(SQL_MODE, `'${[this.#mode, "IGNORE_SPACE"].filter(Boolean).join(",")}'`);
    return new ClientSettings(variables, database === this.#parts.database ? undefined : database);
  }
}

interface DoorFacts {
  readonly longest: number;
  readonly own: ReadonlyMap<string, string>;
  readonly mode: string;
  readonly collations: ReadonlyMap<number, readonly [characterSet: string, collation: string]>;
}

async function doorFacts(connection: MysqlConnection): Promise<DoorFacts> {
  const names = [...CHARACTER_SETS, "collation_connection", SQL_MODE];
  const { rows } = await connection.run(`SELECT ${names.map((name) => `@@SESSION.${name}`).join(", ")}`);
  const values = (rows[0] ?? []).map(String);
  const [[longest] = []] = (await connection.run("SELECT @@SESSION.max_allowed_packet")).rows;
  const listed = await connection.run(
    "SELECT ID, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLLATIONS WHERE ID < 256",
  );
  return {
    longest: Number(longest),
    own: new Map(names.map((name, at) => [name, `'${values[at]}'`])),
    mode: values[names.length - 1] ?? "",
    collations: new Map(
      listed.rows.map(([id, name, collation]) => [Number(id), [String(name), String(collation)]]),
    ),
  };
}

/** Random bytes that some clients would take for the end of a text are left out. */
function saltBytes(): Buffer {
  return Buffer.from(randomBytes(SALT_LENGTH).map((byte) => (byte % 94) + 33));
}

/** Such as 101119 for "10.11.19-MariaDB". */
function versionNumber(version: string): number {
  const [, major = "0", minor = "0", patch = "0"] = /^(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) * 10_000 + Number(minor) * 100 + Number(patch);
}
