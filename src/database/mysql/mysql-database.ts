import { StatementError, UsageError } from "../../core/errors/errors.ts";
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
import { endedByItself } from "../server/server-errors.ts";
import type { ScriptStatement } from "../server/server-statements.ts";
import { parseServerUrl } from "../server/server-url.ts";
import { effectOf, isReading } from "../server/statement-effect.ts";
import { MysqlConnection } from "./mysql-connection.ts";
import { repeatedError } from "./mysql-errors.ts";
import { anyTable, type MysqlFacts, mysqlFacts } from "./mysql-facts.ts";
import { makeMarkerTable, markStatement } from "./mysql-marker.ts";
import { MysqlObjects } from "./mysql-objects.ts";
import { xaName } from "./mysql-xa.ts";
import type { MysqlDoor } from "./proxy/mysql-door.ts";
import type { RepeatableWork } from "./proxy/work.ts";

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
  readonly #objects: MysqlObjects;
  #name: TransactionName | undefined;
  #isInTransaction = false;
  #door: MysqlDoor | undefined;

  private constructor(
    connection: MysqlConnection,
    login: ServerLogin,
    facts: MysqlFacts,
    objects: MysqlObjects,
  ) {
    super(connection, login, {
      dialect: "mysql",
      quote: "`",
      cancel: () => cancelSession(login, connection.id),
    });
    this.#facts = facts;
    this.#objects = objects;
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
      for (const sql of await withoutTimeouts(connection)) await connection.run(sql);
      const objects = await MysqlObjects.read(connection, parseServerUrl(login.location).database);
      return new MysqlDatabase(connection, login, facts, objects);
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
  }

  get isInTransaction(): boolean {
    return this.#isInTransaction;
  }

  async begin(name: TransactionName): Promise<void> {
    await this.#door?.beginAnew();
    const table = await anyTable(this.connection);
    await this.connection.run(`XA START ${xaName(name)}`);
    this.#name = name;
    this.saved = [];
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
    return { ...result, sql, effect: effectOf(words, !isReading(words) || this.#objects.mayWrite(sql)) };
  }

  /** A table whose engine has no transactions keeps every write at once. */
  protected override assertRunnable(statement: ScriptStatement, readOnly: boolean): void {
    assertRunnable(statement, "mysql");
    const reads = isReading(statement.words);
    if (reads && !this.#objects.mayWrite(statement.sql)) return;
    const why = this.#objects.whyNotWritten(statement.sql);
    if (why !== undefined)
      throw new StatementError(why, {
        hint: "Convert it with 'ALTER TABLE … ENGINE=InnoDB', or change it outside of the plan; nothing was run.",
      });
    if (readOnly && !reads)
      throw new UsageError("The plan is read-only, and this statement may change something.", {
        code: "READ_ONLY",
      });
  }

  override async run(script: string, options?: { readonly readOnly?: boolean }) {
    await this.#door?.settle();
    return await super.run(script, options);
  }

  override async savepoint(number: number): Promise<void> {
    await this.#door?.settle();
    await super.savepoint(number);
  }

  override async rollbackTo(number: number): Promise<void> {
    await this.#door?.settle();
    await super.rollbackTo(number);
  }

  async openDoor(parts: ClientDoorParts): Promise<ClientDoor> {
    const { MysqlDoor } = await import("./proxy/mysql-door.ts");
    const { connection, login } = this;
    const { database } = parseServerUrl(login.location);
    const door = await MysqlDoor.open({
      ...parts,
      ...{ connection, database, patienceMs: login.patienceMs },
      isMaria: this.#facts.isMaria,
      stop: () => cancelSession(login, connection.id),
      objects: this.#objects,
      revive: async () => {
        this.#isInTransaction = false;
        await parts.revive();
      },
    });
    this.#door = door;
    return door;
  }

  async repeat({ again }: ClientUnit): Promise<string | undefined> {
    if ("whyNot" in again) return again.whyNot;
    const { NotRepeated, repeatWork } = await import("./proxy/repeated-work.ts");
    await this.#door?.settle();
    try {
      const differs = await repeatWork(this.connection, again.work as RepeatableWork);
      if (differs === undefined) await this.moveGuard();
      else await this.backToGuard();
      return differs;
    } catch (thrown) {
      if (!(thrown instanceof NotRepeated)) throw thrown;
      await this.backToGuard();
      throw repeatedError(thrown, this.login.location);
    }
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
    await this.#door?.settle();
    await this.connection.run(`XA END ${xaName(name)}`);
    await this.connection.run(`XA COMMIT ${xaName(name)} ONE PHASE`);
    this.#over();
  }

  async makeMarker(name: TransactionName): Promise<string | undefined> {
    return await makeMarkerTable(this.login, name);
  }

  /** A failure in another statement may have ended the transaction: then it has no guard any more. */
  async check(): Promise<void> {
    // What clients did after the guard stays.
    await this.#door?.settle();
    await this.backToGuard();
    if (!this.#isInTransaction) throw endedByItself(this.login.location);
  }

  async prepare(marker: string | undefined): Promise<Evidence> {
    const name = this.#current();
    await this.#door?.settle();
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

/** For what the server ends a session: a plan is at rest for days, and a client may read slowly. */
const TIMEOUTS = [
  ...["wait_timeout", "net_write_timeout", "net_read_timeout"],
  ...["idle_transaction_timeout", "idle_readonly_transaction_timeout", "idle_write_transaction_timeout"],
];
const YEAR_SECONDS = 31_536_000;

/** The statements that keep a server from ending the session by itself. */
async function withoutTimeouts(connection: MysqlConnection): Promise<string[]> {
  const { rows } = await connection.run("SHOW SESSION VARIABLES LIKE '%timeout'");
  const known = rows.map(([name]) => String(name));
  // Of those for transactions, 0 is none.
  return TIMEOUTS.filter((name) => known.includes(name)).map(
    (name) => `SET SESSION ${name} = ${name.startsWith("idle") ? 0 : YEAR_SECONDS}`,
  );
}

async function cancelSession(login: ServerLogin, id: number): Promise<void> {
  const other = await MysqlConnection.open(login);
  try {
    await other.run(`KILL QUERY ${id}`);
  } finally {
    await other.close();
  }
}
