import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Client as PostgresClient, Submittable } from "pg";
import { hideSecret } from "../../core/resource/secret-url.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { type AnsweringServer, answerTo, endWithin, holdStream, listenTo } from "../server/server-answer.ts";
import type { ServerLogin } from "../server/server-database.ts";
import { passwordInTheClear } from "../server/server-errors.ts";
import type { ScriptStatement } from "../server/server-statements.ts";
import { parseServerUrl } from "../server/server-url.ts";
import { type BorrowedStream, borrowStream } from "../server/streams/borrowed-stream.ts";
import { CopyIn } from "./copy-in.ts";
import { postgresError } from "./postgres-errors.ts";
import { postgresValue } from "./postgres-values.ts";

/** The result of a statement, with the server's word for the kind of statement. */
export interface PostgresResult extends StatementResult {
  readonly command: string;
}

/**
 * A connection to PostgreSQL. It runs single statements, returns values without loss, and throws our errors.
 */
export class PostgresConnection {
  readonly #client: PostgresClient;
  readonly #login: ServerLogin;
  #isClosing = false;
  #isLost = false;
  #runs = 0;
  #stop: (() => Promise<void>) | undefined;
  onLost: (why: string) => void = () => undefined;
  /** A script that a borrower leaves to be run before any other statement. */
  due: string | undefined;

  private constructor(client: PostgresClient, login: ServerLogin) {
    this.#client = client;
    this.#login = login;
    const lost = (why: string) => {
      if (this.#isClosing || this.#isLost) return;
      this.#isLost = true;
      this.onLost(why);
    };
    client.on("error", (error) => lost(hideSecret(error.message, login.secret)));
    client.on("end", () => lost("the server ended the connection"));
  }

  static async open(login: ServerLogin): Promise<PostgresConnection> {
    const client = await makeClient(login);
    const connection = new PostgresConnection(client, login);
    try {
      await connect(client, login);
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
    return connection;
  }

  /**
   * The process at the other end, as the connection was told. Behind a pooler, the server itself names
   * another one.
   */
  get processId(): number | undefined {
    return (this.#client as unknown as { readonly processID: number | null }).processID ?? undefined;
  }

  get isOpen(): boolean {
    return !this.#isClosing && !this.#isLost;
  }

  /** Whether a transaction is open, and no statement in it has failed. */
  get isInTransaction(): boolean {
    return (
      (this.#client as unknown as { getTransactionStatus(): string | null }).getTransactionStatus() === "T"
    );
  }

  /**
   * Runs one statement: the server itself refuses a text with several. `which` numbers a statement of the
   * user's; it is undefined for ours.
   */
  async run(sql: string, values: readonly unknown[] = [], which?: string): Promise<PostgresResult> {
    const result = await this.#ask(sql, which, () =>
      this.#client.query({
        text: sql,
        values: [...values],
        rowMode: "array",
        queryMode: "extended",
        types: { getTypeParser: () => (text: unknown) => text },
      } as unknown as Parameters<PostgresClient["query"]>[0]),
    );
    const { fields, rows, rowCount, command } = result as unknown as RawResult;
    return {
      command,
      columns: fields.map(({ name }) => name),
      rows: rows.map((row) => row.map((value, at) => postgresValue(value, fields[at]?.dataTypeID ?? 0))),
      changes: CHANGING.includes(command) ? (rowCount ?? 0) : 0,
    };
  }

  /** Runs a statement of a script: one with data is a COPY of them. */
  async runStatement({ sql, data }: ScriptStatement, which: string): Promise<PostgresResult> {
    if (data === undefined) return await this.run(sql, [], which);
    const changes = await this.#ask(sql, which, async () => {
      const copy = new CopyIn(sql, data);
      this.#client.query(copy as unknown as Submittable);
      return await copy.copied;
    });
    return { command: "COPY", columns: [], rows: [], changes };
  }

  async #ask<T>(sql: string, which: string | undefined, ask: () => Promise<T>): Promise<T> {
    this.#runs += 1;
    const { due } = this;
    this.due = undefined;
    try {
      return await answerTo(this.#answering, { sql, isOwn: which === undefined }, async () => {
        if (due !== undefined) await this.#client.query(due);
        return await ask();
      });
    } catch (thrown) {
      throw postgresError(thrown, this.#login.location, this.#login.secret, which);
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await endWithin(CLOSING_MS, this.#client.end(), () => this.drop());
  }

  /** Cuts the connection: the running statement fails. */
  drop(): void {
    cut(this.#client);
  }

  /** How often a statement was run. A borrower learns by it that others used the connection meanwhile. */
  get runs(): number {
    return this.#runs;
  }

  /**
   * Lends the connection, which must be idle, as a stream of bytes. The borrower leaves it idle, and gives it
   * back with the bytes that are not for it: the beginning of a notice.
   */
  borrow(take: (bytes: Buffer) => void): BorrowedStream {
    return borrowStream(streamOf(this.#client), take);
  }

  /** Sets the function that ends statements of the user's from outside. */
  set stop(stop: () => Promise<void>) {
    this.#stop = stop;
  }

  get #answering(): AnsweringServer {
    const { location, patienceMs } = this.#login;
    const listen = (listener: (bytes: number) => void) => listenTo(streamOf(this.#client), listener);
    const hold = (isHeld: boolean) => holdStream(streamOf(this.#client), isHeld);
    return { location, patienceMs, listen, hold, stop: this.#stop, drop: () => this.drop() };
  }
}

interface RawConnection extends EventEmitter {
  readonly stream: Socket & { readonly encrypted?: boolean };
}

function rawConnection(client: PostgresClient): RawConnection {
  return (client as unknown as { readonly connection: RawConnection }).connection;
}

function streamOf(client: PostgresClient): RawConnection["stream"] {
  return rawConnection(client).stream;
}

/** A client of the driver that is not connected yet. */
export async function makeClient({ location, secret, patienceMs }: ServerLogin): Promise<PostgresClient> {
  const { Client } = (await import("pg")).default;
  parseServerUrl(location);
  return new Client({
    connectionString:
      secret === undefined ? location : location.replace("@", `:${encodeURIComponent(secret)}@`),
    application_name: "drydock",
    connectionTimeoutMillis: patienceMs,
    keepAlive: true,
  });
}

/** Connects the client, with an error of ours if that fails. */
export async function connect(client: PostgresClient, login: ServerLogin): Promise<void> {
  try {
    const connecting = client.connect();
    guardPassword(client, login);
    await connecting;
  } catch (thrown) {
    throw postgresError(thrown, login.location, login.secret);
  }
}

/** Cuts the connection of a client: the running statement fails. */
export function cut(client: PostgresClient): void {
  streamOf(client).destroy(new Error("Connection terminated: it was cut"));
}

const CLEARTEXT = "authenticationCleartextPassword";

/**
 * A server may ask for the password itself instead of a proof. It gets the password only where nobody can
 * listen, or where the user allows it by the option of PostgreSQL's client programs: `require_auth=password`.
 */
function guardPassword(client: PostgresClient, { location }: ServerLogin): void {
  const { socket, parameters } = parseServerUrl(location);
  const isAllowed =
    socket !== undefined || parameters.get("require_auth")?.split(",").includes("password") === true;
  if (isAllowed) return;
  const connection = rawConnection(client);
  const [answer] = connection.listeners(CLEARTEXT) as ((message: unknown) => void)[];
  connection.removeAllListeners(CLEARTEXT);
  connection.on(CLEARTEXT, (message: unknown) => {
    if (connection.stream.encrypted === true) answer?.(message);
    else connection.stream.destroy(passwordInTheClear(location, "in the clear", "require_auth=password"));
  });
}

interface RawResult {
  readonly command: string;
  readonly rowCount: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

const CLOSING_MS = 1000;
const CHANGING = ["INSERT", "UPDATE", "DELETE", "MERGE", "COPY"];
