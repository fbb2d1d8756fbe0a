import { setTimeout as sleep } from "node:timers/promises";
import { SandboxCommitError } from "../../core/errors/errors.ts";
import type { ChangedRows, RowRange } from "../../core/values/changed-rows.ts";
import type { ClientDoor, ClientDoorParts, ClientUnit } from "../server/client-unit.ts";
import { GuardedDatabase } from "../server/guarded-database.ts";
import { assertRunnable } from "../server/refused-statements.ts";
import type {
  Evidence,
  ServerDatabase,
  ServerLogin,
  ServerSession,
  ServerStatement,
  TransactionName,
} from "../server/server-database.ts";
import { nameText } from "../server/server-database.ts";
import { endedByItself } from "../server/server-errors.ts";
import type { ScriptStatement } from "../server/server-statements.ts";
import { parseServerUrl } from "../server/server-url.ts";
import { effectOf, isReading } from "../server/statement-effect.ts";
import { PostgresConnection, type PostgresResult } from "./postgres-connection.ts";
import { PostgresResolver } from "./postgres-resolver.ts";
import type { RepeatableWork } from "./proxy/work.ts";

const LOOK = "drydock_look";
/** The settings that decide how a value is written as text. */
const TEXT_SETTINGS = `SELECT name, setting FROM pg_settings WHERE name IN
  ('DateStyle', 'IntervalStyle', 'TimeZone', 'extra_float_digits', 'bytea_output', 'lc_monetary', 'xmlbinary')`;
/** Why the server would refuse to prepare the transaction, as far as it tells; null if nothing shows. */
const WHY_NOT_PREPARED = `SELECT CASE
  WHEN pg_catalog.pg_my_temp_schema() <> 0 THEN 'it has made temporary objects'
  WHEN EXISTS (SELECT FROM pg_catalog.pg_cursors WHERE is_holdable) THEN 'it has a cursor WITH HOLD'
  WHEN (SELECT count(*) FROM pg_catalog.pg_prepared_xacts)
    >= pg_catalog.current_setting('max_prepared_transactions')::int
    THEN 'the server has no place left for a prepared transaction (max_prepared_transactions)'
  END`;
/** How long another connection waits, and for what. */
const WAITING = ["lock_timeout", "statement_timeout"];

/**
 * A transaction held on a PostgreSQL server, at the level REPEATABLE READ: it sees the database as it was at
 * its beginning, and can't change a row that another session has changed since. Its number (`txid_current`)
 * tells later how it ended (`txid_status`).
 */
export class PostgresDatabase extends GuardedDatabase<PostgresConnection> implements ServerDatabase {
  readonly product: string;
  readonly session: ServerSession;
  readonly whyNoPrepare: string | undefined;
  #name: TransactionName | undefined;

  private constructor(connection: PostgresConnection, login: ServerLogin, facts: ServerFacts) {
    super(connection, login, {
      dialect: "postgres",
      quote: '"',
      cancel: () => cancelSession(login, facts.session),
    });
    this.product = facts.product;
    this.session = facts.session;
    this.whyNoPrepare = facts.whyNoPrepare;
  }

  static async open(login: ServerLogin): Promise<PostgresDatabase> {
    const connection = await PostgresConnection.open(login);
    try {
      return new PostgresDatabase(connection, login, await factsOf(connection, login));
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
  }

  get isInTransaction(): boolean {
    return this.#name !== undefined && this.connection.isInTransaction;
  }

  async begin(name: TransactionName): Promise<void> {
    this.#name = name;
    this.saved = [];
    this.connection.due = undefined;
    await this.connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE");
    await this.connection.run(`SET LOCAL lock_timeout = ${this.login.patienceMs}`);
    await this.connection.run("SET LOCAL idle_in_transaction_session_timeout = 0");
    // The first statement fixes the state that the transaction sees.
    await this.connection.run("SELECT 1");
    await this.guard();
  }

  protected override assertRunnable(statement: ScriptStatement): void {
    assertRunnable(statement, "postgres");
  }

  protected override async beginReading(): Promise<void> {
    await this.connection.run("SET TRANSACTION READ ONLY");
  }

  protected override async runStatement(statement: ScriptStatement, which: string): Promise<ServerStatement> {
    const { sql, words } = statement;
    const looked = isReading(words) ? await this.#look(sql) : undefined;
    this.cancellation.assertGoing();
    const result = looked ?? (await this.connection.runStatement(statement, which));
    if (!this.connection.isInTransaction) throw endedByItself(this.login.location);
    return { ...result, sql, effect: effectOf(words, looked === undefined) };
  }

  /**
   * Runs a statement that should only read in a way that it can't write, because a SELECT may call a function
   * that does. Undefined if it failed: the caller runs it again like any other statement, and that shows
   * whether it writes or is wrong.
   */
  async #look(sql: string): Promise<PostgresResult | undefined> {
    await this.connection.run(`SAVEPOINT ${LOOK}`);
    await this.connection.run("SET TRANSACTION READ ONLY");
    let result: PostgresResult | undefined;
    try {
      result = await this.connection.run(sql, [], "");
    } catch (thrown) {
      if (!this.connection.isOpen) throw thrown;
      await this.connection.run(`ROLLBACK TO SAVEPOINT ${LOOK}`);
    }
    // Read-only mode ends with the savepoint, so the transaction may write again from here on.
    await this.connection.run(`RELEASE SAVEPOINT ${LOOK}`);
    return result;
  }

  async changedRows(table: string, range: RowRange): Promise<ChangedRows> {
    const { postgresRows } = await import("./postgres-rows.ts");
    const inside = async (sql: string) => {
      const limit = `SELECT set_config('statement_timeout', '${this.login.patienceMs}', true)`;
      return (await this.run(`${limit}; ${sql}`, { readOnly: true })).at(-1)?.rows ?? [];
    };
    const settings = await inside(TEXT_SETTINGS);
    const other = await PostgresConnection.open(this.login);
    try {
      await other.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      // A value is the same text on both sides then.
      for (const [name, value] of [...settings, ...WAITING.map((name) => [name, this.login.patienceMs])])
        await other.run("SELECT set_config($1, $2, true)", [name, String(value)]);
      const outside = async (sql: string) => (await other.run(sql, [], "")).rows;
      return await postgresRows({ inside, outside }, table, range);
    } finally {
      await other.close();
    }
  }

  async openDoor(parts: ClientDoorParts): Promise<ClientDoor> {
    const { PostgresDoor } = await import("./proxy/postgres-door.ts");
    const { connection, login, session } = this;
    const { user, database } = parseServerUrl(login.location);
    const stop = () => cancelSession(login, session);
    return await PostgresDoor.open({
      ...parts,
      connection,
      user,
      database,
      patienceMs: login.patienceMs,
      savepoints: () => this.saved.length,
      stop,
    });
  }

  async repeat({ again }: ClientUnit): Promise<string | undefined> {
    if ("whyNot" in again) return again.whyNot;
    const { repeatWork } = await import("./proxy/repeated-work.ts");
    const differs = await repeatWork(this.connection, again.work as RepeatableWork);
    if (differs !== undefined) await this.backToGuard();
    return differs;
  }

  async rollback(): Promise<void> {
    this.#name = undefined;
    this.connection.due = undefined;
    await this.connection.run("ROLLBACK");
  }

  async commit(): Promise<void> {
    this.#name = undefined;
    const { command } = await this.connection.run("COMMIT");
    if (command !== "COMMIT") throw notDone(command);
  }

  async makeMarker(): Promise<undefined> {
    return undefined;
  }

  /**
   * Constraints that wait for the end are checked in a savepoint. With it everything goes back: which of them
   * wait, and what their triggers did.
   */
  async check(): Promise<void> {
    const [refusal] = (await this.connection.run(WHY_NOT_PREPARED)).rows[0] ?? [];
    if (typeof refusal === "string") throw notPreparable(refusal);
    await this.connection.run(`SAVEPOINT ${LOOK}`);
    try {
      await this.connection.run("SET CONSTRAINTS ALL IMMEDIATE", [], "");
    } finally {
      if (this.connection.isOpen) {
        await this.connection.run(`ROLLBACK TO SAVEPOINT ${LOOK}`);
        await this.connection.run(`RELEASE SAVEPOINT ${LOOK}`);
      }
    }
  }

  async prepare(): Promise<Evidence> {
    const name = this.#name;
    if (name === undefined) throw new Error("There is no transaction to prepare.");
    const transactionNumber = String(await this.#value("SELECT txid_current()"));
    this.#name = undefined;
    const { command } = await this.connection.run(`PREPARE TRANSACTION '${nameText(name)}'`);
    if (command !== "PREPARE") throw notDone(command);
    return { transactionNumber };
  }

  /** Settings of statements stay in the session when their transaction is prepared. */
  async resolver(): Promise<PostgresResolver> {
    await this.connection.run("DISCARD ALL");
    return new PostgresResolver(this.connection, this.login);
  }

  async #value(sql: string) {
    return (await this.connection.run(sql)).rows[0]?.[0] ?? null;
  }

  protected override async backToGuard(): Promise<void> {
    // The connection may fail when there is no transaction.
    if (this.#name !== undefined) await super.backToGuard();
  }
}

async function cancelSession(login: ServerLogin, { id }: ServerSession): Promise<void> {
  const other = await PostgresConnection.open(login);
  try {
    await other.run(`SELECT pg_cancel_backend(${id})`);
  } finally {
    await other.close();
  }
}

interface ServerFacts {
  readonly product: string;
  readonly session: ServerSession;
  readonly whyNoPrepare: string | undefined;
}

async function factsOf(connection: PostgresConnection, login: ServerLogin): Promise<ServerFacts> {
  const { rows } = await connection.run(
    `SELECT pid, backend_start::text, current_setting('server_version'), current_setting('max_prepared_transactions')
     FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
  );
  const [pid, startedAt, version, slots] = rows[0] ?? [];
  const isPooled = connection.processId !== Number(pid) && (await isGivenAway(connection, login));
  return {
    product: `PostgreSQL ${String(version).split(" ", 1)[0]}`,
    session: { id: Number(pid), startedAt: String(startedAt) },
    whyNoPrepare:
      Number(slots) === 0 ? "max_prepared_transactions is 0 on this server" : isPooled ? POOLED : undefined,
  };
}

const POOLED = "a pooler in between gives each transaction another session";

/**
 * Whether another connection gets the session of this one, when this one has no transaction: then there is a
 * pooler in between.
 */
async function isGivenAway(connection: PostgresConnection, login: ServerLogin): Promise<boolean> {
  const pidOf = async (from: PostgresConnection) => (await from.run("SELECT pg_backend_pid()")).rows[0]?.[0];
  const before = await pidOf(connection);
  const other = await PostgresConnection.open(login);
  let asked: Promise<unknown> = Promise.resolve(before);
  try {
    await other.run("BEGIN");
    if ((await pidOf(other)) === before) return true;
    asked = pidOf(connection);
    // If the other connection has the only session, this one waits for it.
    return (await Promise.race([asked, sleep(SESSION_WAIT_MS)])) !== before;
  } finally {
    await other.close();
    await asked;
  }
}

const SESSION_WAIT_MS = 1000;

function notPreparable(why: string): SandboxCommitError {
  return new SandboxCommitError(`The transaction could not be prepared: ${why}.`, {
    hint: "Nothing was changed. Roll the plan back, or mend the cause on the server, and try again.",
  });
}

function notDone(command: string): SandboxCommitError {
  return new SandboxCommitError(
    `The server answered ${command}: the transaction was rolled back, and nothing landed.`,
    {
      hint: "Try again.",
    },
  );
}
