import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { Connection, ConnectionOptions, FieldPacket } from "mysql2/promise";
import { hideSecret } from "../../core/resource/secret-url.ts";
import type { DatabaseValue, StatementResult } from "../../core/values/query.ts";
import { plainInteger } from "../common/row-json.ts";
import { type AnsweringServer, answerTo, endWithin, holdStream, listenTo } from "../server/server-answer.ts";
import type { ServerLogin } from "../server/server-database.ts";
import { parseServerUrl } from "../server/server-url.ts";
import { type BorrowedStream, borrowStream } from "../server/streams/borrowed-stream.ts";
import { ASKED_UNDER_KEY, mysqlError } from "./mysql-errors.ts";

const IN_TRANSACTION = 1;

/**
 * A connection to MySQL or MariaDB. It runs single statements, returns values without loss, and throws our
 * errors.
 */
export class MysqlConnection {
  readonly #connection: Connection;
  readonly #login: ServerLogin;
  #isClosing = false;
  #isLost = false;
  #stop: (() => Promise<void>) | undefined;
  onLost: (why: string) => void = () => undefined;

  private constructor(connection: Connection, login: ServerLogin) {
    this.#connection = connection;
    this.#login = login;
    const lost = (why: string) => {
      if (this.#isClosing || this.#isLost) return;
      this.#isLost = true;
      this.onLost(why);
    };
    connection.on("error", (error: Error) => lost(hideSecret(error.message, login.secret)));
    connection.on("end", () => lost("the server ended the connection"));
  }

  static async open(login: ServerLogin): Promise<MysqlConnection> {
    const { default: driver } = await import("mysql2/promise");
    const { default: plugins } = await import("mysql2");
    const { location, secret, patienceMs } = login;
    const { host, port, user, database, socket, parameters } = parseServerUrl(location);
    const tls = tlsOptions(parameters);
    const isPrivate = socket !== undefined || tls.ssl !== undefined;
    try {
      const connection = await driver.createConnection({
        ...(socket === undefined ? { host, ...(port !== undefined && { port }) } : { socketPath: socket }),
        user,
        database,
        ...(secret !== undefined && { password: secret }),
        ...tls,
        ...passwordRules(plugins, parameters, isPrivate),
        connectTimeout: patienceMs,
        rowsAsArray: true,
        // A server must not read files of this machine. Clients of a plan share this connection: the rest
        // makes its answers such that every client understands them.
        flags: [
          ...["-LOCAL_FILES", "-SESSION_TRACK", "-CLIENT_QUERY_ATTRIBUTES", "-IGNORE_SPACE"],
          "PS_MULTI_RESULTS",
        ],
        charset: "utf8mb4",
        enableKeepAlive: true,
        typeCast: (field) => field.buffer(),
      });
      return new MysqlConnection(connection, login);
    } catch (thrown) {
      throw mysqlError(thrown, location, secret);
    }
  }

  get isOpen(): boolean {
    return !this.#isClosing && !this.#isLost;
  }

  get id(): number {
    return this.#connection.threadId;
  }

  /**
   * Runs one statement: the server itself refuses a text with several. `which` numbers a statement of the
   * user's; it is undefined for ours.
   */
  async run(sql: string, which?: string): Promise<StatementResult & { readonly isInTransaction?: boolean }> {
    try {
      const isOwn = which === undefined || /^KILL /.test(sql);
      const answering = answerTo(
        this.#answering,
        { sql, isOwn },
        async () => await this.#connection.query(sql),
      );
      const [result, fields] = await answering;
      return resultOf(result, fields);
    } catch (thrown) {
      throw mysqlError(thrown, this.#login.location, this.#login.secret, which);
    }
  }

  /**
   * The rows of a statement of ours as the server sends them: however many, and however long it takes. All of
   * them have to be read.
   */
  async *stream(sql: string): AsyncGenerator<RawRow> {
    const socket = streamOf(this.#connection);
    // The driver does not tell a stream that the connection is lost.
    const lost = () => rows?.destroy(new Error(LOST));
    let rows: Readable | undefined;
    try {
      if (socket.destroyed) throw new Error(LOST);
      rows = rawConnection(this.#connection).query({ sql }).stream({ highWaterMark: ROWS_AHEAD });
      socket.once("close", lost);
      for await (const row of rows) yield row as RawRow;
    } catch (thrown) {
      throw mysqlError(thrown, this.#login.location, this.#login.secret, "");
    } finally {
      socket.off("close", lost);
    }
  }

  /** All rows of a statement of ours, as text. */
  async texts(sql: string): Promise<(readonly (string | null)[])[]> {
    const rows: (readonly (string | null)[])[] = [];
    for await (const row of this.stream(sql)) rows.push(row.map((value) => value?.toString() ?? null));
    return rows;
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (this.#isLost) return this.#connection.destroy();
    // Closes the connection, also when the server is ending it.
    await endWithin(CLOSING_MS, this.#connection.end(), () => this.#connection.destroy());
  }

  /** Cuts the connection: the running statement fails. */
  drop(): void {
    streamOf(this.#connection).destroy(new Error("Connection lost: it was cut"));
  }

  /** The version, in the server's own words. */
  get serverVersion(): string {
    return rawConnection(this.#connection)._handshakePacket.serverVersion;
  }

  get isMaria(): boolean {
    return /mariadb/i.test(this.serverVersion);
  }

  /** Whether the server says more about each column than MySQL's protocol does. */
  get hasExtendedMetadata(): boolean {
    return rawConnection(this.#connection)._mariadbExtendedMetadata;
  }

  /**
   * Lends the connection, which must be idle, as a stream of bytes. The borrower leaves it idle, and gives it
   * back with the bytes that are not for it.
   */
  borrow(take: (bytes: Buffer) => void): BorrowedStream {
    return borrowStream(streamOf(this.#connection), take);
  }

  /** Sets the function that ends statements of the user's from outside. */
  set stop(stop: () => Promise<void>) {
    this.#stop = stop;
  }

  get #answering(): AnsweringServer {
    const { location, patienceMs } = this.#login;
    const listen = (listener: (bytes: number) => void) => listenTo(streamOf(this.#connection), listener);
    const hold = (isHeld: boolean) => holdStream(streamOf(this.#connection), isHeld);
    return { location, patienceMs, listen, hold, stop: this.#stop, drop: () => this.drop() };
  }
}

interface RawConnection {
  readonly stream: Socket;
  readonly _handshakePacket: { readonly serverVersion: string };
  readonly _mariadbExtendedMetadata: boolean;
  query(options: { readonly sql: string }): { stream(options: { highWaterMark: number }): Readable };
}

/** A row as the server sends it; bytes in the character set of `character_set_results`. */
export type RawRow = readonly (Buffer | null)[];

/** How many rows are read before somebody wants them. */
const ROWS_AHEAD = 500;
const LOST = "Connection lost: the server ended it";

function rawConnection(connection: Connection): RawConnection {
  return (connection as unknown as { readonly connection: RawConnection }).connection;
}

function streamOf(connection: Connection): Socket {
  return rawConnection(connection).stream;
}

const CLOSING_MS = 1000;
const FULL_AUTHENTICATION = Buffer.of(4);

type AuthPlugins = NonNullable<ConnectionOptions["authPlugins"]>;
type PluginFactory = (options: object) => AuthPlugins[string];

/**
 * A server may ask for the password itself instead of a proof: in the clear, or under a key that it sends,
 * which any other server could do. It gets the password only where nobody can listen, or where the user
 * allows it by the option of MySQL's client programs.
 */
function passwordRules(
  driver: object,
  parameters: ReadonlyMap<string, string>,
  isPrivate: boolean,
): Pick<ConnectionOptions, "enableCleartextPlugin" | "authPlugins"> {
  const says = (name: string) => /^(?:1|true|on)$/i.test(parameters.get(name) ?? "");
  const enableCleartextPlugin = isPrivate || says("enable-cleartext-plugin");
  if (isPrivate || says("get-server-public-key")) return { enableCleartextPlugin };
  const refused = () => new Error(ASKED_UNDER_KEY);
  const { authPlugins } = driver as {
    readonly authPlugins: { readonly caching_sha2_password: PluginFactory };
  };
  return {
    enableCleartextPlugin,
    authPlugins: {
      caching_sha2_password: (context) => {
        const standard = authPlugins.caching_sha2_password({})(context);
        return (data) => {
          if (FULL_AUTHENTICATION.equals(data)) throw refused();
          return standard(data);
        };
      },
      sha256_password: () => () => {
        throw refused();
      },
    },
  };
}

interface Header {
  readonly affectedRows: number;
  readonly serverStatus?: number;
}

/** A procedure returns several results; the last set of rows counts. */
function resultOf(
  result: unknown,
  fields: unknown,
): StatementResult & { readonly isInTransaction?: boolean } {
  if (!Array.isArray(result)) {
    const { affectedRows, serverStatus } = result as Header;
    const status =
      serverStatus === undefined ? {} : { isInTransaction: (serverStatus & IN_TRANSACTION) !== 0 };
    return { columns: [], rows: [], changes: affectedRows, ...status };
  }
  const sets = fields as readonly (FieldPacket | readonly FieldPacket[] | undefined)[];
  const at = sets.findLastIndex((set) => Array.isArray(set));
  if (at >= 0) return rowsOf(sets[at] as readonly FieldPacket[], result[at] as RawRows);
  return rowsOf(sets as readonly FieldPacket[], result as unknown as RawRows);
}

type RawRows = readonly RawRow[];

function rowsOf(fields: readonly FieldPacket[], rows: RawRows): StatementResult {
  return {
    columns: fields.map(({ name }) => name),
    rows: rows.map((row) => row.map((value, at) => valueFrom(value, fields[at]))),
    changes: 0,
  };
}

/**
 * The numbers of the types whose text is a number, and of those that are bytes unless they have a character
 * set.
 */
const INTEGERS = [1, 2, 3, 8, 9, 13];
const FLOATS = [4, 5];
const ALWAYS_BYTES = [16, 255];
const BYTES_OR_TEXT = [15, 249, 250, 251, 252, 253, 254];
const NO_CHARACTER_SET = 63;

/** Converts the bytes that the server sends. Nothing is lost: decimals, dates and JSON stay text. */
function valueFrom(bytes: Buffer | null, field: FieldPacket | undefined): DatabaseValue {
  if (bytes === null) return null;
  const { columnType = 0, characterSet = 0 } = (field ?? {}) as {
    columnType?: number;
    characterSet?: number;
  };
  const isBytes = BYTES_OR_TEXT.includes(columnType) && characterSet === NO_CHARACTER_SET;
  if (ALWAYS_BYTES.includes(columnType) || isBytes) return new Uint8Array(bytes);
  const text = bytes.toString();
  if (INTEGERS.includes(columnType)) return plainInteger(BigInt(text));
  return FLOATS.includes(columnType) ? Number(text) : text;
}

/** `ssl-mode`, as in MySQL's client programs. */
function tlsOptions(parameters: ReadonlyMap<string, string>): {
  readonly ssl?: { readonly rejectUnauthorized: boolean };
} {
  const mode = (parameters.get("ssl-mode") ?? parameters.get("sslmode") ?? "").toUpperCase();
  if (mode === "REQUIRED") return { ssl: { rejectUnauthorized: false } };
  return mode.startsWith("VERIFY") ? { ssl: { rejectUnauthorized: true } } : {};
}
