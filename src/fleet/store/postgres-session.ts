import { setTimeout as sleep } from "node:timers/promises";
import type { Client as PostgresClient, QueryArrayResult } from "pg";
import { DrydockError } from "../../core/errors/errors.ts";
import { connect, cut, makeClient } from "../../database/postgres/postgres-connection.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { driverError, isUnreachable, SERVER_DOWN, serverDown } from "../../database/server/server-errors.ts";
import { milliseconds } from "../../system/milliseconds.ts";

/**
 * One connection to the database of a fleet, which is made again when it is lost.
 *
 * A connection that was cut says nothing by itself, so every wait has an end: for the connection, for each
 * answer, and on the server for transactions that go on without us, whose locks would hold up others, and for
 * connections whose other end is silent.
 *
 * What is run has to be repeatable: if the connection is lost, the session connects again and runs it once
 * more, because nobody can know whether the server has run it. It gives up after its patience.
 */
export class PostgresSession {
  readonly #login: ServerLogin;
  readonly #prelude: (client: PostgresClient) => Promise<void>;
  #client: Promise<PostgresClient> | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** `prelude` is run on each new connection, before anything else. */
  constructor(login: ServerLogin, prelude: (client: PostgresClient) => Promise<void>) {
    this.#login = login;
    this.#prelude = prelude;
  }

  /**
   * Runs a text of one or more statements as one transaction, and returns the rows of each. Repeats it if the
   * connection is lost, or if the server ended it in favour of another one. Texts that are run at the same
   * time take their turns.
   */
  async run(sql: string): Promise<readonly Rows[]> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#turn;
    this.#turn = promise;
    await before;
    try {
      return await this.#run(sql);
    } finally {
      resolve();
    }
  }

  async #run(sql: string): Promise<readonly Rows[]> {
    const deadline = milliseconds() + this.#login.patienceMs;
    for (;;) {
      const client = await this.#connected(deadline);
      try {
        return await rowsOf(client, sql, this.#login);
      } catch (thrown) {
        if (!this.#isLost(thrown) && !isDeadlock(thrown)) throw thrown;
        if (this.#isLost(thrown)) this.#drop(client);
        if (this.#isClosed || milliseconds() > deadline) throw this.#unreachable(thrown);
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#client?.then(
      // Nothing is lost with the connection: what was run is done.
      (client) => client.end().catch(() => cut(client)),
      () => undefined,
    );
    this.#client = undefined;
  }

  async #connected(deadline: number): Promise<PostgresClient> {
    for (;;) {
      try {
        this.#client ??= this.#open();
        return await this.#client;
      } catch (thrown) {
        this.#client = undefined;
        if (!this.#isLost(thrown) || this.#isClosed || milliseconds() > deadline)
          throw this.#unreachable(thrown);
      }
      await sleep(PAUSE_MS);
    }
  }

  async #open(): Promise<PostgresClient> {
    const client = await makeClient(this.#login);
    // The loss of an idle connection is noticed by the next statement, which fails.
    client.on("error", () => undefined);
    try {
      await connect(client, this.#login);
      await rowsOf(client, settings(this.#login), this.#login);
      await this.#prelude(client);
      return client;
    } catch (thrown) {
      cut(client);
      throw thrown;
    }
  }

  #drop(client: PostgresClient): void {
    cut(client);
    this.#client = undefined;
  }

  #isLost(thrown: unknown): boolean {
    if (thrown instanceof DrydockError) return thrown.code === SERVER_DOWN;
    const error = driverError(thrown, this.#login.secret);
    return (
      error !== undefined &&
      (isUnreachable(error) || LOST.test(error.code) || NOT_QUERYABLE.test(error.message))
    );
  }

  #unreachable(thrown: unknown): unknown {
    if (thrown instanceof DrydockError || !this.#isLost(thrown)) return thrown;
    return serverDown(this.#login.location, driverError(thrown, this.#login.secret)?.message ?? "it is gone");
  }
}

/** The rows of one statement: values as text. */
export type Rows = readonly (readonly (string | null)[])[];

/** Runs statements in the simple protocol: all of them in one message and one transaction. */
export async function rowsOf(
  client: PostgresClient,
  sql: string,
  { location, patienceMs }: ServerLogin,
): Promise<readonly Rows[]> {
  const slow = setTimeout(() => cut(client), patienceMs);
  try {
    const query = { text: sql, rowMode: "array", types: { getTypeParser: () => (text: unknown) => text } };
    const results = (await client.query(query as never)) as unknown as QueryArrayResult | QueryArrayResult[];
    return [results].flat().map(({ rows }) => rows as Rows);
  } catch (thrown) {
    if (slow.hasRef()) throw thrown;
    throw serverDown(location, "it does not answer");
  } finally {
    clearTimeout(slow);
  }
}

const PAUSE_MS = 50;
/** After so many seconds without a word the server asks whether the other end is there, a few times. */
const SILENCE_S = 5;
/** Shut down, crashed, starting up, connection exceptions, too many connections, ended while idle. */
const LOST = /^(?:57P0[1235]|080..|53300|25P03)$/;
const NOT_QUERYABLE = /^Client (?:has encountered a connection error|was closed)/;

function isDeadlock(thrown: unknown): boolean {
  return /^40(?:001|P01)$/.test(driverError(thrown, undefined)?.code ?? "");
}

/**
 * What hosts ask for is small, and in memory: there is nothing to be gained by reading a table as a whole.
 */
function settings({ patienceMs }: ServerLogin): string {
  return `SET search_path TO drydock; SET idle_in_transaction_session_timeout = ${patienceMs};
    SET lock_timeout = ${patienceMs}; SET random_page_cost = 1.1; SET standard_conforming_strings = on;
    SET tcp_keepalives_idle = ${SILENCE_S}; SET tcp_keepalives_interval = ${SILENCE_S};
    SET tcp_keepalives_count = 3; SET tcp_user_timeout = ${4 * SILENCE_S * 1000}`;
}
