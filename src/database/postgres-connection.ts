import type { Client as PostgresClient } from "pg";
import type { StatementResult } from "../core/query.ts";
import { hideSecret } from "../core/secret-url.ts";
import { postgresError } from "./postgres-errors.ts";
import { postgresValue } from "./postgres-values.ts";
import type { ServerLogin } from "./server-database.ts";
import { parseServerUrl } from "./server-url.ts";

/** What a statement gave, with the word by which the server says what it was. */
export interface PostgresResult extends StatementResult {
  readonly command: string;
}

/** A connection to PostgreSQL: statements one by one, values without loss, errors as ours. */
export class PostgresConnection {
  readonly #client: PostgresClient;
  readonly #login: ServerLogin;
  #isClosing = false;
  #isLost = false;
  onLost: (why: string) => void = () => undefined;

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
    const { Client } = (await import("pg")).default;
    const { location, secret, patienceMs } = login;
    parseServerUrl(location);
    const client = new Client({
      connectionString: secret === undefined ? location : location.replace("@", `:${encodeURIComponent(secret)}@`),
      application_name: "drydock",
      connectionTimeoutMillis: patienceMs,
      keepAlive: true,
    });
    const connection = new PostgresConnection(client, login);
    try {
      await client.connect();
    } catch (thrown) {
      await connection.close();
      throw postgresError(thrown, location, secret);
    }
    return connection;
  }

  /** The process that this end was told it speaks with. A pooler in between tells another one than the server itself does. */
  get processId(): number | undefined {
    return (this.#client as unknown as { readonly processID: number | null }).processID ?? undefined;
  }

  get isOpen(): boolean {
    return !this.#isClosing && !this.#isLost;
  }

  /** Whether a transaction is open, and no statement in it has failed. */
  get isInTransaction(): boolean {
    return (this.#client as unknown as { getTransactionStatus(): string | null }).getTransactionStatus() === "T";
  }

  /** Runs one statement: the server itself refuses a text that holds several. `which` says which one of a user's it is; ours are not. */
  async run(sql: string, values: readonly unknown[] = [], which?: string): Promise<PostgresResult> {
    try {
      const result = await this.#client.query({
        text: sql,
        values: [...values],
        rowMode: "array",
        queryMode: "extended",
        types: { getTypeParser: () => (text: unknown) => text },
      } as unknown as Parameters<PostgresClient["query"]>[0]);
      const { fields, rows, rowCount, command } = result as unknown as RawResult;
      return {
        command,
        columns: fields.map(({ name }) => name),
        rows: rows.map((row) => row.map((value, at) => postgresValue(value, fields[at]?.dataTypeID ?? 0))),
        changes: CHANGING.includes(command) ? (rowCount ?? 0) : 0,
      };
    } catch (thrown) {
      throw postgresError(thrown, this.#login.location, this.#login.secret, which);
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#client.end();
  }
}

interface RawResult {
  readonly command: string;
  readonly rowCount: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

const CHANGING = ["INSERT", "UPDATE", "DELETE", "MERGE", "COPY"];
