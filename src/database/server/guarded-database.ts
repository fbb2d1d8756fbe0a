import type { StatementResult } from "../../core/values/query.ts";
import { Cancellation } from "./cancellation.ts";
import { scriptStatements } from "./psql-script.ts";
import type { ServerLogin, ServerStatement } from "./server-database.ts";
import { whichOf } from "./server-errors.ts";
import { type Dialect, type ScriptStatement, withoutOwnTransactions } from "./server-statements.ts";

/** The savepoint that encloses what may still fail. Clients of a plan have no savepoint of this name. */
export const GUARD = "drydock_guard";

/** The part of a driver's connection that this class needs. */
interface GuardableConnection {
  readonly isOpen: boolean;
  onLost: (why: string) => void;
  stop: () => Promise<void>;
  run(sql: string): Promise<unknown>;
  drop(): void;
  close(): Promise<void>;
}

/**
 * The differences between servers, and the function that cancels this connection's statement through another
 * one.
 */
interface ServerTraits {
  readonly dialect: Dialect;
  /** The quotation mark around names. */
  readonly quote: '"' | "`";
  readonly cancel: () => Promise<void>;
}

/**
 * The common part of transactions held on PostgreSQL and on MySQL. The guard, a savepoint of ours, is always
 * the last savepoint: when a script fails, the transaction goes back to the guard and lives on.
 */
export abstract class GuardedDatabase<Connection extends GuardableConnection> {
  protected readonly connection: Connection;
  protected readonly login: ServerLogin;
  protected readonly cancellation: Cancellation;
  readonly #traits: ServerTraits;
  /** The numbers of the savepoints that there are. */
  protected saved: readonly number[] = [];

  constructor(connection: Connection, login: ServerLogin, traits: ServerTraits) {
    this.connection = connection;
    this.login = login;
    this.#traits = traits;
    const { patienceMs } = login;
    this.cancellation = new Cancellation({ tell: traits.cancel, cut: () => connection.drop(), patienceMs });
    connection.stop = traits.cancel;
  }

  /** Refuses a statement before anything is sent. */
  protected abstract assertRunnable(statement: ScriptStatement, readOnly: boolean): void;

  /** Runs one statement of a script. `which` names it in errors. */
  protected abstract runStatement(statement: ScriptStatement, which: string): Promise<ServerStatement>;

  /**
   * Makes the server refuse all writes until the transaction goes back to the guard, where the server can.
   */
  protected beginReading?(): Promise<void>;

  get isOpen(): boolean {
    return this.connection.isOpen;
  }

  set onLost(listener: (why: string) => void) {
    this.connection.onLost = listener;
  }

  async run(script: string, { readOnly = false } = {}): Promise<readonly ServerStatement[]> {
    const statements = withoutOwnTransactions(scriptStatements(script, this.#traits.dialect));
    for (const statement of statements) this.assertRunnable(statement, readOnly);
    const results: ServerStatement[] = [];
    try {
      if (readOnly) await this.beginReading?.();
      await this.cancellation.during(async () => {
        for (const [index, statement] of statements.entries())
          results.push(await this.runStatement(statement, whichOf(index, statements.length)));
      });
    } catch (thrown) {
      await this.backToGuard();
      throw thrown;
    }
    if (readOnly) await this.backToGuard();
    else await this.moveGuard();
    return results;
  }

  async cancel(): Promise<void> {
    await this.cancellation.cancel();
  }

  async table(name: string): Promise<StatementResult> {
    const { quote } = this.#traits;
    const quoted = name.split(".").map((part) => `${quote}${part.replaceAll(quote, quote + quote)}${quote}`);
    const [result] = await this.run(`SELECT * FROM ${quoted.join(".")}`, { readOnly: true });
    return result ?? { columns: [], rows: [], changes: 0 };
  }

  async savepoint(number: number): Promise<void> {
    await this.connection.run(`RELEASE SAVEPOINT ${GUARD}`);
    await this.connection.run(`SAVEPOINT drydock_${number}`);
    this.saved = [...this.saved, number];
    await this.guard();
  }

  async rollbackTo(number: number): Promise<void> {
    await this.connection.run(`ROLLBACK TO SAVEPOINT drydock_${number}`);
    this.saved = this.saved.filter((each) => each <= number);
    await this.guard();
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  protected async guard(): Promise<void> {
    await this.connection.run(`SAVEPOINT ${GUARD}`);
  }

  protected async moveGuard(): Promise<void> {
    await this.connection.run(`RELEASE SAVEPOINT ${GUARD}`);
    await this.guard();
  }

  protected async backToGuard(): Promise<void> {
    await this.connection.run(`ROLLBACK TO SAVEPOINT ${GUARD}`);
  }
}
