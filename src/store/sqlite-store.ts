import type { Owner } from "../core/owner.ts";
import type { Shape } from "../core/values/shape.ts";
import { keepReserve } from "../system/state/reserve.ts";
import { claimKeys, releaseKeys } from "./claims.ts";
import { historyShape } from "./record-shapes.ts";
import { statementsFor } from "./row-codec.ts";
import { type RecordFacts, type SqlConnection, SqlStore } from "./sql-store.ts";
import { openConnection, type SqliteConnection, type SqliteStoreOptions } from "./sqlite-connection.ts";
import type { ClaimResult, Durability, HistoryEntry, NumberedEntry, Store, StoreChange } from "./store.ts";

/** Opens the durable state in this directory, and makes it if it is missing. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  return new SqlStore(new SqliteRecords(await openConnection(options), options.stateDir));
}

/** SQLite looks into the record itself, which it keeps as it was written. */
const FACTS: RecordFacts = {
  direction: "json_extract(record, '$.direction')",
  undoRecord: "json_extract(record, '$.undoRecord')",
  finishedAt: "json_extract(record, '$.finishedAt')",
  workspace: "record -> '$.ref.metadata.workspace'",
  at: "json_extract(record, '$.at')",
  event: "json_extract(record, '$.event')",
  ofThisHost: "",
  anyCase: (expression) => `${expression} COLLATE NOCASE`,
};

/**
 * The records in one SQLite database. SQLite's calls are synchronous and short, so each answer is there at
 * once.
 */
class SqliteRecords implements SqlConnection {
  readonly facts = FACTS;
  readonly #connection: SqliteConnection;
  readonly #stateDir: string;

  constructor(connection: SqliteConnection, stateDir: string) {
    this.#connection = connection;
    this.#stateDir = stateDir;
  }

  records<T>(shape: Shape, sql: string, ...values: readonly string[]): readonly T[] {
    return this.#connection.records(shape, sql, ...values);
  }

  /**
   * SQLite gives the numbers inside of a write transaction, of which there is one at a time, and gives none
   * twice, though entries go with plans.
   */
  entries(sql: string, ...values: readonly string[]): readonly NumberedEntry[] {
    return this.#connection
      .numbered<HistoryEntry>(historyShape, sql, ...values)
      .map(([seq, entry]) => ({ seq, entry }));
  }

  lastNumber(): number {
    const [last] = this.texts("SELECT seq AS text FROM sqlite_sequence WHERE name = 'history'");
    return Number(last ?? 0);
  }

  texts(sql: string, ...values: readonly string[]): readonly string[] {
    return this.#connection.texts(sql, ...values);
  }

  answers(sql: string): boolean {
    return this.#connection.answers(sql);
  }

  write(changes: readonly StoreChange[], durability: Durability): void {
    this.#connection.transaction(durability, () => {
      for (const change of changes) {
        for (const { sql, values } of statementsFor(change)) this.#connection.run(sql, ...values);
      }
    });
  }

  claim(keys: readonly string[], owner: Owner, isAlive: (owner: Owner) => boolean): ClaimResult {
    return claimKeys(this.#connection, keys, owner, isAlive);
  }

  release(keys: readonly string[], owner: Owner): void {
    releaseKeys(this.#connection, keys, owner);
  }

  close(): void {
    this.#connection.close();
    // Refills the reserve, which the command may have used to make room.
    keepReserve(this.#stateDir);
  }
}
