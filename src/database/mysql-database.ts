import { StatementError, UsageError } from "../core/errors.ts";
import type { StatementResult } from "../core/query.ts";
import { Cancellation } from "./cancellation.ts";
import { MysqlConnection } from "./mysql-connection.ts";
import { anyTable, type MysqlFacts, mysqlFacts } from "./mysql-facts.ts";
import { makeMarkerTable, markStatement } from "./mysql-marker.ts";
import { xaName } from "./mysql-xa.ts";
import { assertRunnable } from "./refused-statements.ts";
import type {
  Evidence,
  ServerDatabase,
  ServerLogin,
  ServerSession,
  ServerStatement,
  TransactionName,
} from "./server-database.ts";
import { endedByItself, whichOf } from "./server-errors.ts";
import { type ScriptStatement, statementsOf } from "./server-statements.ts";
import { effectOf, isReading } from "./statement-effect.ts";

const GUARD = "drydock_guard";

/**
 * A transaction held on a MySQL or MariaDB server: an XA transaction, in which the server itself refuses whatever would commit it. It sees the
 * database as it was when it began, and fails at a row that somebody else has changed since: by `innodb_snapshot_isolation` where the
 * server has that, else by SERIALIZABLE, which locks what it reads.
 *
 * A failure of that kind ends the transaction as a whole; then `isInTransaction` is false. After `prepare` the connection is closed, because no other
 * can end the transaction before.
 */
export class MysqlDatabase implements ServerDatabase {
  readonly product: string;
  readonly session: ServerSession;
  readonly whyNoPrepare: string | undefined;
  readonly #connection: MysqlConnection;
  readonly #login: ServerLogin;
  readonly #facts: MysqlFacts;
  readonly #cancellation: Cancellation;
  #name: TransactionName | undefined;
  #isInTransaction = false;

  private constructor(connection: MysqlConnection, login: ServerLogin, facts: MysqlFacts) {
    this.#connection = connection;
    this.#login = login;
    this.#facts = facts;
    this.product = facts.product;
    this.whyNoPrepare = facts.whyNoPrepare;
    this.session = { id: connection.id, startedAt: facts.serverStartedAt };
    const tell = () => cancelSession(login, connection.id);
    this.#cancellation = new Cancellation({ tell, cut: () => connection.drop(), patienceMs: login.patienceMs });
    connection.stop = tell;
  }

  static async open(login: ServerLogin): Promise<MysqlDatabase> {
    const connection = await MysqlConnection.open(login);
    try {
      const facts = await mysqlFacts(connection);
      await connection.run(
        `SET SESSION TRANSACTION ISOLATION LEVEL ${facts.hasSnapshots ? "REPEATABLE READ" : "SERIALIZABLE"}`,
      );
      if (facts.hasSnapshots) await connection.run("SET SESSION innodb_snapshot_isolation = ON");
      await connection.run(`SET SESSION innodb_lock_wait_timeout = ${Math.ceil(login.patienceMs / 1000)}`);
      await connection.run("SET SESSION wait_timeout = 31536000");
      return new MysqlDatabase(connection, login, facts);
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  get isInTransaction(): boolean {
    return this.#isInTransaction;
  }

  set onLost(listener: (why: string) => void) {
    this.#connection.onLost = listener;
  }

  async begin(name: TransactionName): Promise<void> {
    const table = await anyTable(this.#connection);
    await this.#connection.run(`XA START ${xaName(name)}`);
    this.#name = name;
    this.#isInTransaction = true;
    // The first look at a table of InnoDB's fixes what it sees.
    if (table !== undefined) await this.#connection.run(`SELECT 1 FROM ${table} LIMIT 1`);
    await this.#guard();
  }

  async run(script: string, { readOnly = false } = {}): Promise<readonly ServerStatement[]> {
    const statements = statementsOf(script, "mysql");
    for (const statement of statements) this.#assertRunnable(statement, readOnly);
    const results: ServerStatement[] = [];
    try {
      await this.#cancellation.during(async () => {
        for (const [index, { sql, words }] of statements.entries()) {
          this.#cancellation.assertGoing();
          const result = await this.#connection.run(sql, whichOf(index, statements.length));
          if (result.isInTransaction === false) throw endedByItself(this.#login.location);
          const calls = words.some((word) => this.#facts.functions.has(word));
          results.push({ ...result, sql, effect: effectOf(words, calls || !isReading(words)) });
        }
      });
    } catch (thrown) {
      await this.#backToGuard();
      throw thrown;
    }
    if (readOnly) await this.#backToGuard();
    else await this.#guard();
    return results;
  }

  async cancel(): Promise<void> {
    await this.#cancellation.cancel();
  }

  /** What is written to a table that has no transactions is there at once, and stays. */
  #assertRunnable(statement: ScriptStatement, readOnly: boolean): void {
    assertRunnable(statement, "mysql");
    if (isReading(statement.words)) return;
    const names = new Set(statement.words.concat(statement.sql.toUpperCase().split(/[^\w$]+/)));
    const table = this.#facts.withoutTransactions.find((name) => names.has(name.toUpperCase()));
    if (table !== undefined)
      throw new StatementError(`The table ${table} can't be changed in a plan: its engine has no transactions.`, {
        hint: `Convert it with 'ALTER TABLE ${table} ENGINE=InnoDB', or change it outside of the plan; nothing was run.`,
      });
    if (readOnly)
      throw new UsageError("The plan is read-only, and this statement may change something.", {
        hint: "Make a plan without --read-only.",
        code: "READ_ONLY",
      });
  }

  async table(name: string): Promise<StatementResult> {
    const quoted = name.split(".").map((part) => `\`${part.replaceAll("`", "``")}\``);
    const [result] = await this.run(`SELECT * FROM ${quoted.join(".")}`, { readOnly: true });
    return result ?? { columns: [], rows: [], changes: 0 };
  }

  async savepoint(number: number): Promise<void> {
    await this.#connection.run(`SAVEPOINT drydock_${number}`);
    await this.#guard();
  }

  async rollbackTo(number: number): Promise<void> {
    await this.#connection.run(`ROLLBACK TO SAVEPOINT drydock_${number}`);
    await this.#guard();
  }

  async rollback(): Promise<void> {
    const name = this.#name;
    if (name === undefined) return;
    // One that the server has given up has ended already.
    if (this.#isInTransaction) await this.#connection.run(`XA END ${xaName(name)}`);
    await this.#connection.run(`XA ROLLBACK ${xaName(name)}`);
    this.#over();
  }

  async commit(): Promise<void> {
    const name = this.#current();
    await this.#connection.run(`XA END ${xaName(name)}`);
    await this.#connection.run(`XA COMMIT ${xaName(name)} ONE PHASE`);
    this.#over();
  }

  async makeMarker(name: TransactionName): Promise<string | undefined> {
    return await makeMarkerTable(this.#login, name);
  }

  async prepare(marker: string | undefined): Promise<Evidence> {
    const name = this.#current();
    if (marker !== undefined) await this.#connection.run(markStatement(marker, name));
    await this.#connection.run(`XA END ${xaName(name)}`);
    this.#isInTransaction = false;
    await this.#connection.run(`XA PREPARE ${xaName(name)}`);
    this.#over();
    await this.#connection.close();
    return marker === undefined ? {} : { marker };
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #current(): TransactionName {
    if (this.#name === undefined) throw new Error("There is no transaction.");
    return this.#name;
  }

  #over(): void {
    this.#name = undefined;
    this.#isInTransaction = false;
  }

  async #guard(): Promise<void> {
    await this.#connection.run(`SAVEPOINT ${GUARD}`);
  }

  /** If there is no way back, the transaction is gone. */
  async #backToGuard(): Promise<void> {
    if (!this.#connection.isOpen) return;
    try {
      await this.#connection.run(`ROLLBACK TO SAVEPOINT ${GUARD}`);
    } catch (thrown) {
      if (!this.#connection.isOpen) throw thrown;
      this.#isInTransaction = false;
    }
  }
}

async function cancelSession(login: ServerLogin, id: number): Promise<void> {
  const other = await MysqlConnection.open(login);
  try {
    await other.run(`KILL QUERY ${id}`);
  } finally {
    await other.close();
  }
}
