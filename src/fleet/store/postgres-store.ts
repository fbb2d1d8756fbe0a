import { randomUUID } from "node:crypto";
import { escapeLiteral } from "pg";
import { BusyError, DrydockError, messageOf, StateError } from "../../core/errors/errors.ts";
import type { Owner } from "../../core/owner.ts";
import type { Shape } from "../../core/values/shape.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { driverError } from "../../database/server/server-errors.ts";
import { historyShape, ownerShape } from "../../store/record-shapes.ts";
import { statementsFor } from "../../store/row-codec.ts";
import { type RecordFacts, type SqlConnection, SqlStore } from "../../store/sql-store.ts";
import type {
  ClaimResult,
  Durability,
  HistoryEntry,
  NumberedEntry,
  Store,
  StoreChange,
} from "../../store/store.ts";
import { lockAlone, lockTogether } from "./advisory-locks.ts";
import type { Bell } from "./bell.ts";
import type { HostView } from "./host-view.ts";
import {
  claimStatement,
  dropExpiredStatement,
  dropStatement,
  othersStatement,
  releaseStatement,
} from "./postgres-claims.ts";
import { prepareSchema } from "./postgres-schema.ts";
import { PostgresSession, type Rows } from "./postgres-session.ts";

/** Opens the records in this database, and makes its tables if they are missing. */
export async function openPostgresStore(login: ServerLogin): Promise<Store> {
  return new SqlStore(await openPostgresRecords(login));
}

/** The same for a host, which sees the records in its own way. */
export async function openPostgresRecords(
  login: ServerLogin,
  view?: HostView,
  bell?: Bell,
): Promise<PostgresRecords> {
  const session = new PostgresSession(login, async (client) => {
    await prepareSchema(client, login);
    await bell?.hangIn(client, login);
  });
  const records = new PostgresRecords(session, login, view);
  try {
    await records.forgetOldWrites();
  } catch (error) {
    session.close();
    throw error;
  }
  return records;
}

const FACTS: Omit<RecordFacts, "ofThisHost"> = {
  direction: "direction",
  undoRecord: "undo_record",
  finishedAt: "finished_at",
  workspace: "workspace",
  at: "at",
  event: "event",
  anyCase: (expression) => `upper(${expression})`,
};

/** A write is repeated within the patience of a session, which is far shorter. */
const WRITES_ARE_KNOWN_FOR = "1 day";

/**
 * The records in a database of PostgreSQL.
 *
 * Everything is run as one message, which the server makes one transaction, and can be repeated: reads and
 * claims by their nature, writes by their row in `writes`.
 *
 * An `ordered` write does not wait for the disk. The server's log keeps the order of commits, so it can only
 * be lost with everything after it, and a later durable commit brings it to the disk too.
 */
export class PostgresRecords implements SqlConnection {
  readonly facts: RecordFacts;
  readonly #session: PostgresSession;
  readonly #login: ServerLogin;
  readonly #view: HostView | undefined;

  constructor(session: PostgresSession, login: ServerLogin, view: HostView | undefined) {
    this.#session = session;
    this.#login = login;
    this.#view = view;
    const ofThisHost = view === undefined ? "" : `AND host = ${escapeLiteral(view.host)}`;
    this.facts = { ...FACTS, ofThisHost };
  }

  async records<T>(shape: Shape, sql: string, ...values: readonly string[]): Promise<readonly T[]> {
    return (await this.run(bound(sql, values))).map(([record]) => this.record<T>(shape, record));
  }

  /**
   * Numbers are given before their transactions end. The lock waits for those under way, and what begins
   * afterwards gets larger numbers.
   */
  async entries(sql: string, ...values: readonly string[]): Promise<readonly NumberedEntry[]> {
    const rows = await this.run(lockAlone("history"), bound(sql, values));
    return rows.map(([seq, record]) => ({
      seq: Number(seq),
      entry: this.#parsed<HistoryEntry>(historyShape, record),
    }));
  }

  async lastNumber(): Promise<number> {
    const sequence = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM history_seq_seq";
    const [[last] = []] = await this.run(lockAlone("history"), sequence);
    return Number(last);
  }

  async texts(sql: string, ...values: readonly string[]): Promise<readonly string[]> {
    return (await this.run(bound(sql, values))).map(([text]) => String(text));
  }

  async answers(sql: string): Promise<boolean> {
    const [[answer] = []] = await this.run(sql);
    return answer === "t";
  }

  /** Writes records. `besides` are statements that happen with them, and refuse the write by an error. */
  async write(
    changes: readonly StoreChange[],
    durability: Durability,
    besides: readonly string[] = [],
  ): Promise<void> {
    const id = escapeLiteral(randomUUID());
    const tells = changes.some((change) => "put" in change && change.put === "history");
    const statements = changes
      .flatMap((change) => statementsFor(this.#view?.shared(change) ?? change, true))
      .map(({ sql, values }) => bound(sql, values));
    try {
      await this.run(
        `SELECT set_config('synchronous_commit', '${durability === "durable" ? "on" : "off"}', true)`,
        `INSERT INTO writes (id) VALUES (${id})`,
        ...besides,
        ...(tells ? [lockTogether("history")] : []),
        ...statements,
      );
    } catch (error) {
      // The connection was lost after the server had committed.
      if (!isSecondTime(error)) throw error;
    }
  }

  /** Owners that are dead stay dead, so it does no harm to ask before the lock is taken. */
  async claim(
    keys: readonly string[],
    owner: Owner,
    isAlive: (owner: Owner) => boolean,
  ): Promise<ClaimResult> {
    const view = this.#view;
    const others = await this.run(othersStatement(owner, view));
    const dead = others.map(([record]) => this.#ownerOf(record)).filter((other) => !isAlive(other));
    if (keys.length === 0 && dead.length === 0) return { granted: true };
    const stored = keys.map((key) => view?.key(key) ?? key);
    const lock = lockAlone("claims");
    const drops = dead.length === 0 ? [] : [dropStatement(dead)];
    if (keys.length === 0) {
      await this.run(lock, ...drops);
      return { granted: true };
    }
    const claim = claimStatement(stored, owner, view);
    let [taken] = await this.run(lock, ...drops, claim);
    if (taken !== undefined && view !== undefined)
      [taken] = await this.run(lock, dropExpiredStatement(stored, owner, view), claim);
    if (taken === undefined) return { granted: true };
    const [position, holder] = taken;
    return { granted: false, key: keys[Number(position)] ?? "", holder: this.#ownerOf(holder) };
  }

  async release(keys: readonly string[], owner: Owner): Promise<void> {
    const stored = keys.map((key) => this.#view?.key(key) ?? key);
    if (keys.length > 0) await this.run(releaseStatement(stored, owner));
  }

  async forgetOldWrites(): Promise<void> {
    await this.run(`DELETE FROM writes WHERE written_at < now() - interval '${WRITES_ARE_KNOWN_FOR}'`);
  }

  close(): void {
    this.#session.close();
  }

  /**
   * Runs statements as one transaction, and returns the rows of the last. They are run again if the
   * connection is lost, so they have to be repeatable.
   */
  async run(...statements: readonly string[]): Promise<Rows> {
    try {
      return (await this.#session.run(statements.join(";\n"))).at(-1) ?? [];
    } catch (thrown) {
      if (thrown instanceof DrydockError || isSecondTime(thrown) || isRefusal(thrown)) throw thrown;
      throw this.#error(thrown);
    }
  }

  #error(thrown: unknown): unknown {
    const error = driverError(thrown, this.#login.secret);
    if (error === undefined) return thrown;
    if (error.code === LOCK_TIMEOUT)
      return new BusyError(`Others kept the fleet's database ${this.#login.location} locked for too long.`, {
        holder: "another host or process of the fleet",
        cause: thrown,
      });
    return new StateError(`The fleet's database ${this.#login.location} refuses: ${error.message}.`, {
      hint: "Check the privileges of its user, and that it has room.",
      cause: thrown,
    });
  }

  #ownerOf(text: unknown): Owner {
    return this.#parsed<Owner>(ownerShape, text);
  }

  /** A record from a row, as this host sees it. */
  record<T>(shape: Shape, text: unknown): T {
    const record = this.#parsed<T>(shape, text);
    return this.#view?.seen(shape, record) ?? record;
  }

  #parsed<T>(shape: Shape, text: unknown): T {
    let record: T;
    try {
      record = JSON.parse(String(text)) as T;
    } catch (error) {
      throw this.#damaged(messageOf(error));
    }
    const problem = shape(record, "");
    if (problem !== undefined) throw this.#damaged(problem);
    return record;
  }

  #damaged(why: string): StateError {
    return new StateError(
      `The fleet's database ${this.#login.location} is damaged: a record in it is not as Drydock writes it: ${why}.`,
      { hint: "Restore it from a backup." },
    );
  }
}

const LOCK_TIMEOUT = "55P03";
const UNIQUE_VIOLATION = "23505";

/** Whether the write was run before. */
function isSecondTime(thrown: unknown): boolean {
  return (
    thrown instanceof Error &&
    "code" in thrown &&
    thrown.code === UNIQUE_VIOLATION &&
    "constraint" in thrown &&
    thrown.constraint === "writes_pkey"
  );
}

const REFUSAL = "DD001";

/** A statement that makes its whole transaction fail unless `statement` finds a row. */
export function unlessNothing(statement: string): string {
  return `DO $refuse$ BEGIN ${statement};
    IF NOT FOUND THEN RAISE EXCEPTION USING ERRCODE = '${REFUSAL}', MESSAGE = 'refused'; END IF; END $refuse$`;
}

/** Whether a transaction failed by `unlessNothing`. */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === REFUSAL;
}

/** The statement with its values in the place of the question marks. */
function bound(sql: string, values: readonly string[]): string {
  let next = 0;
  return sql.replaceAll("?", () => escapeLiteral(values[next++] ?? ""));
}
