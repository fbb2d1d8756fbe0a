import { backup, constants, DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { InterruptedError } from "../../core/errors/errors.ts";
import type { DatabaseValue, StatementResult } from "../../core/values/query.ts";
import { holdLocks } from "../../system/data/locked-files.ts";
import { milliseconds } from "../../system/milliseconds.ts";
import type { DatabaseConnection } from "../common/database-connection.ts";
import { managesTransaction, splitStatements } from "../common/sql-statements.ts";
import { databaseError, isBusy, statementError } from "./sqlite-errors.ts";
import { type SqliteMode, sqliteUri } from "./sqlite-uri.ts";

/** Short, because a program that writes all the time leaves only short gaps. */
const PAUSE_BETWEEN_TRIES_MS = 2;
const ALL_PAGES = 0x7fffffff;

/** How long to wait for others, and the signal that ends the wait early. */
export interface Patience {
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

/**
 * One connection to a SQLite database. As by SQLite's own defaults, it does not enforce foreign keys, and an
 * unknown name in double quotes is text. It never waits for a lock by itself, which would stop the whole
 * process: `patiently` waits.
 */
export class SqliteDatabase implements DatabaseConnection {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #release: () => void;

  constructor(path: string, mode: SqliteMode) {
    this.path = path;
    const release = mode === "create" ? () => undefined : holdIfThere(path);
    try {
      this.#db = new DatabaseSync(sqliteUri(path, mode), {
        enableForeignKeyConstraints: false,
        enableDoubleQuotedStringLiterals: true,
        // The tables that belong to a virtual table are copied like all others.
        defensive: false,
        readBigInts: true,
        returnArrays: true,
        timeout: 0,
      });
    } catch (thrown) {
      release();
      throw databaseError(thrown, path);
    }
    this.#release = release;
  }

  /** Whether a transaction is open. */
  get isInTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Attaches another file to this connection, under a name. */
  attach(path: string, mode: SqliteMode, name: string): void {
    this.rows(`ATTACH ? AS ${name}`, sqliteUri(path, mode));
  }

  /** Runs statements of ours that return nothing. */
  exec(sql: string): void {
    this.#guarded(() => this.#db.exec(sql));
  }

  /** The rows of a statement of ours. */
  rows(sql: string, ...values: readonly DatabaseValue[]): DatabaseValue[][] {
    return this.#guarded(() =>
      this.#arrays(this.#db.prepare(sql)).all(...values),
    ) as unknown as DatabaseValue[][];
  }

  /** The rows of a statement of ours, one by one. */
  *eachRow(sql: string, ...values: readonly DatabaseValue[]): Generator<DatabaseValue[]> {
    try {
      for (const row of this.#arrays(this.#db.prepare(sql)).iterate(...values))
        yield row as unknown as DatabaseValue[];
    } catch (thrown) {
      throw databaseError(thrown, this.path);
    }
  }

  /** The names of the columns of a statement of ours. */
  columns(sql: string): string[] {
    return this.#guarded(() => this.#db.prepare(sql).columns()).map(({ name }) => name);
  }

  /** The first column of the first row of a statement of ours. */
  value(sql: string, ...values: readonly DatabaseValue[]): DatabaseValue {
    return this.rows(sql, ...values)[0]?.[0] ?? null;
  }

  number(sql: string, ...values: readonly DatabaseValue[]): number {
    return Number(this.value(sql, ...values));
  }

  /** Turns triggers off: the rows that are to be written already contain their effects. */
  ignoreTriggers(): void {
    this.#db.setAuthorizer((...[, , , , inner]) =>
      inner === null ? constants.SQLITE_OK : constants.SQLITE_IGNORE,
    );
  }

  /** From here on, no statement reaches another file, and with `readOnly` none changes anything. */
  confine(readOnly: boolean): void {
    if (readOnly) this.exec("PRAGMA query_only = ON");
    this.#db.setAuthorizer((action, first) => {
      // VACUUM attaches a temporary database without a name.
      const isElsewhere = action === constants.SQLITE_ATTACH && first !== "" && first !== null;
      const isRelease = readOnly && action === constants.SQLITE_PRAGMA && first === "query_only";
      return isElsewhere || isRelease ? constants.SQLITE_DENY : constants.SQLITE_OK;
    });
  }

  async run(script: string): Promise<readonly StatementResult[]> {
    const statements = splitStatements(script);
    const isOneTransaction = !this.isInTransaction && !statements.some(managesTransaction);
    try {
      if (isOneTransaction && statements.length > 1) this.#db.exec("BEGIN");
      const results = statements.map((statement, index) => this.#runOne(statement, index, statements.length));
      if (isOneTransaction && this.isInTransaction) this.#db.exec("COMMIT");
      return results;
    } catch (thrown) {
      throw statementError(thrown, this.path);
    } finally {
      if (this.isInTransaction) this.#db.exec("ROLLBACK");
    }
  }

  #runOne(sql: string, index: number, count: number): StatementResult {
    try {
      const statement = this.#arrays(this.#db.prepare(sql));
      const columns = statement.columns().map(({ name }) => name);
      const before = this.#totalChanges();
      if (columns.length === 0) {
        // What it returns is the count of the last statement that changed rows, which may be another one.
        statement.run();
        return { columns, rows: [], changes: this.#totalChanges() - before };
      }
      const rows = (statement.all() as unknown as DatabaseValue[][]).map((row) => row.map(plainNumber));
      return { columns, rows, changes: this.#totalChanges() - before };
    } catch (thrown) {
      throw statementError(thrown, this.path, count === 1 ? "" : ` ${index + 1} of ${count}`);
    }
  }

  #totalChanges(): number {
    return Number(this.#db.prepare("SELECT total_changes()").get()?.[0 as unknown as string]);
  }

  /** Copies the database, as it is at one instant, into a new file. */
  async copyTo(path: string): Promise<void> {
    try {
      await backup(this.#db, sqliteUri(path, "create"), { rate: ALL_PAGES });
    } catch (thrown) {
      throw databaseError(thrown, path);
    }
  }

  async close(): Promise<void> {
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (!this.#db.isOpen) return;
    try {
      this.#db.close();
    } finally {
      this.#release();
    }
  }

  #arrays(statement: StatementSync): StatementSync {
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    return statement;
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      throw databaseError(thrown, this.path);
    }
  }
}

/** Repeats an action until no other connection blocks it. */
export async function patiently<T>(action: () => T, { limitMs, signal }: Patience): Promise<T> {
  const deadline = milliseconds() + limitMs;
  for (;;) {
    try {
      return action();
    } catch (thrown) {
      const cause = thrown instanceof Error ? thrown.cause : undefined;
      if (!isBusy(thrown) && !isBusy(cause)) throw thrown;
      if (signal?.aborted === true) throw new InterruptedError(undefined, { cause: thrown });
      if (milliseconds() > deadline) throw thrown;
    }
    await sleep(PAUSE_BETWEEN_TRIES_MS);
  }
}

/** Quotes a name for SQL, whatever characters it has. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** SQLite itself reports a missing file. */
function holdIfThere(path: string): () => void {
  try {
    return holdLocks(path);
  } catch {
    return () => undefined;
  }
}

function plainNumber(value: DatabaseValue): DatabaseValue {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
