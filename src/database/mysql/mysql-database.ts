import { StatementError, UsageError } from "../../core/errors/errors.ts";
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
import { endedByItself } from "../server/server-errors.ts";
import type { ScriptStatement } from "../server/server-statements.ts";
import { effectOf, isReading } from "../server/statement-effect.ts";
import { MysqlConnection } from "./mysql-connection.ts";
import { anyTable, type MysqlFacts, mysqlFacts } from "./mysql-facts.ts";
import { makeMarkerTable, markStatement } from "./mysql-marker.ts";
import { xaName } from "./mysql-xa.ts";

/**
 * A transaction held on a MySQL or MariaDB server. It is an XA transaction, in which the server itself
 * refuses any statement that would commit it. It sees the database as it was at its beginning, and fails at a
 * row that another session has changed since: by `innodb_snapshot_isolation` where the server has that, else
 * by SERIALIZABLE, which locks the rows that it reads.
 *
 * A failure of that kind ends the whole transaction; then `isInTransaction` is false. `prepare` closes the
 * connection, because no other connection can end the transaction before.
 */
export class MysqlDatabase extends GuardedDatabase<MysqlConnection> implements ServerDatabase {
  readonly product: string;
  readonly session: ServerSession;
  readonly whyNoPrepare: string | undefined;
  readonly #facts: MysqlFacts;
  #name: TransactionName | undefined;
  #isInTransaction = false;

  private constructor(connection: MysqlConnection, login: ServerLogin, facts: MysqlFacts) {
    super(connection, login, {
      dialect: "mysql",
      quote: "`",
      cancel: () => cancelSession(login, connection.id),
    });
    this.#facts = facts;
    this.product = facts.product;
    this.whyNoPrepare = facts.whyNoPrepare;
    this.session = { id: connection.id, startedAt: facts.serverStartedAt };
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

  get isInTransaction(): boolean {
    return this.#isInTransaction;
  }

  async begin(name: TransactionName): Promise<void> {
    const table = await anyTable(this.connection);
    await this.connection.run(`XA START ${xaName(name)}`);
    this.#name = name;
    this.#isInTransaction = true;
    // The first read of an InnoDB table fixes the state that the transaction sees.
    if (table !== undefined) await this.connection.run(`SELECT 1 FROM ${table} LIMIT 1`);
    await this.guard();
  }

  protected override async runStatement(
    { sql, words }: ScriptStatement,
    which: string,
  ): Promise<ServerStatement> {
    this.cancellation.assertGoing();
    const result = await this.connection.run(sql, which);
    if (result.isInTransaction === false) throw endedByItself(this.login.location);
    const calls = words.some((word) => this.#facts.functions.has(word));
    return { ...result, sql, effect: effectOf(words, calls || !isReading(words)) };
  }

  /** A table whose engine has no transactions keeps every write at once. */
  protected override assertRunnable(statement: ScriptStatement, readOnly: boolean): void {
    assertRunnable(statement, "mysql");
    if (isReading(statement.words)) return;
    const names = new Set(statement.words.concat(statement.sql.toUpperCase().split(/[^\w$]+/)));
    const table = this.#facts.withoutTransactions.find((name) => names.has(name.toUpperCase()));
    if (table !== undefined)
      throw new StatementError(
        `The table ${table} can't be changed in a plan: its engine has no transactions.`,
        {
          hint: `Convert it with 'ALTER TABLE ${table} ENGINE=InnoDB', or change it outside of the plan; nothing was run.`,
        },
      );
    if (readOnly)
      throw new UsageError("The plan is read-only, and this statement may change something.", {
        code: "READ_ONLY",
      });
  }

  async rollback(): Promise<void> {
    const name = this.#name;
    if (name === undefined) return;
    // A transaction that the server has given up has ended already.
    if (this.#isInTransaction) await this.connection.run(`XA END ${xaName(name)}`);
    await this.connection.run(`XA ROLLBACK ${xaName(name)}`);
    this.#over();
  }

  async commit(): Promise<void> {
    const name = this.#current();
    await this.connection.run(`XA END ${xaName(name)}`);
    await this.connection.run(`XA COMMIT ${xaName(name)} ONE PHASE`);
    this.#over();
  }

  async makeMarker(name: TransactionName): Promise<string | undefined> {
    return await makeMarkerTable(this.login, name);
  }

  async prepare(marker: string | undefined): Promise<Evidence> {
    const name = this.#current();
    if (marker !== undefined) await this.connection.run(markStatement(marker, name));
    await this.connection.run(`XA END ${xaName(name)}`);
    this.#isInTransaction = false;
    await this.connection.run(`XA PREPARE ${xaName(name)}`);
    this.#over();
    await this.connection.close();
    return marker === undefined ? {} : { marker };
  }

  #current(): TransactionName {
    if (this.#name === undefined) throw new Error("There is no transaction.");
    return this.#name;
  }

  #over(): void {
    this.#name = undefined;
    this.#isInTransaction = false;
  }

  /** A savepoint replaces an older one of the same name. */
  protected override async moveGuard(): Promise<void> {
    await this.guard();
  }

  /** If the server can't go back to the guard, the transaction is gone. */
  protected override async backToGuard(): Promise<void> {
    if (!this.connection.isOpen) return;
    try {
      await super.backToGuard();
    } catch (thrown) {
      if (!this.connection.isOpen) throw thrown;
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
