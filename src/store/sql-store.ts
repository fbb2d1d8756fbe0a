import type { CheckpointRecord } from "../core/checkpoint.ts";
import type { Owner } from "../core/owner.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import type { Shape } from "../core/values/shape.ts";
import { failpoint, passFailpoint } from "../system/failpoints.ts";
import {
  checkpointShape,
  historyShape,
  intentShape,
  planShape,
  sandboxShape,
  transactionShape,
} from "./record-shapes.ts";
import { columnText } from "./row-codec.ts";
import type {
  ClaimResult,
  Durability,
  HistoryEntry,
  IntentRecord,
  NumberedEntry,
  PlanPage,
  Store,
  StoreChange,
} from "./store.ts";

/**
 * A connection to a database with the tables of the store. In a statement, each `?` stands for the next
 * value, which is text.
 */
export interface SqlConnection {
  /** The facts inside of records, as expressions of this database. */
  readonly facts: RecordFacts;
  /** The records in the column `record` of a query. A record of another shape is damaged. */
  records<T>(shape: Shape, sql: string, ...values: readonly string[]): Answer<readonly T[]>;
  /**
   * Entries of the history, each with its number. What a later query finds besides has larger numbers than
   * all that this one could have found.
   */
  entries(sql: string, ...values: readonly string[]): Answer<readonly NumberedEntry[]>;
  /** The last number of an entry that was given; 0 if none was. */
  lastNumber(): Answer<number>;
  /** The values in the column `text` of a query. */
  texts(sql: string, ...values: readonly string[]): Answer<readonly string[]>;
  /** Whether the column `answer` of a query is true. */
  answers(sql: string): Answer<boolean>;

  write(changes: readonly StoreChange[], durability: Durability): Answer<void>;
  claim(keys: readonly string[], owner: Owner, isAlive: (owner: Owner) => boolean): Answer<ClaimResult>;
  release(keys: readonly string[], owner: Owner): Answer<void>;
  close(): void;
}

type Answer<T> = T | Promise<T>;

/** Expressions of SQL. Those of a missing fact are NULL. */
export interface RecordFacts {
  /** Of a transaction. */
  readonly direction: string;
  readonly undoRecord: string;
  readonly finishedAt: string;
  /** Of a sandbox, as JSON, so that no two folders compare as equal, whatever bytes their names have. */
  readonly workspace: string;
  /** Of an entry of the history. */
  readonly at: string;
  readonly event: string;
  /** A further condition that leaves the rows of this host, where a fleet has many; empty for one alone. */
  readonly ofThisHost: string;
  /** Makes an expression of text compare without regard to the case of ASCII letters. */
  anyCase(expression: string): string;
}

/**
 * The partial indexes of the schemas repeat these conditions word for word; only then does a database use the
 * indexes.
 */
const PLAN_IS_OPEN = "state NOT IN ('applied', 'undone', 'cancelled', 'abandoned')";
const PLAN_IS_OVER = "state IN ('applied', 'undone', 'cancelled', 'abandoned')";
const PLAN_IS_UNFINISHED = "state IN ('creating', 'adding', 'restoring', 'updating', 'closing')";
const SANDBOX_IS_LIVE = "state <> 'CLEANED_UP'";
const TRANSACTION_IS_UNFINISHED = "phase NOT IN ('done', 'aborted')";

const CHECKPOINT_IS_UNFINISHED = "state <> 'saved'";

const NEWEST_FIRST = "ORDER BY created_at DESC, seq DESC";
const OLDEST_FIRST = "ORDER BY created_at, seq";

/** Appended to a prefix, sorts after every string with that prefix. */
const AFTER_ALL = "\u{10ffff}";

/** The character after "/": the paths below a folder sort before the folder with this appended. */
const AFTER_SLASH = "0";

/** How many rows are read first of a list that most callers leave early, and how much more each time. */
const FIRST_PAGE = 20;
const PAGES_GROW = 8;

/** The store in a database: the queries, which are the same for every kind of database. */
export class SqlStore implements Store {
  readonly #connection: SqlConnection;
  readonly #ofThisHost: string;
  readonly #hasUndo: string;
  readonly #hasLanded: string;

  constructor(connection: SqlConnection) {
    this.#connection = connection;
    const { direction, undoRecord, ofThisHost } = connection.facts;
    this.#ofThisHost = ofThisHost;
    this.#hasUndo = `phase = 'done' AND ${direction} = 'commit'
      AND coalesce(${undoRecord}, 'discarding') = 'discarding'`;
    this.#hasLanded = `phase IN ('landed', 'done') AND ${direction} = 'commit'
      AND coalesce(${undoRecord}, '') <> 'used'`;
  }

  async plan(id: string): Promise<PlanRecord | undefined> {
    return await this.#only(planShape, "SELECT record FROM plans WHERE id = ?", id);
  }

  /** The empty key finds nothing: every id begins with it, but it must not stand for the only plan. */
  async findPlans(key: string): Promise<readonly PlanRecord[]> {
    if (key === "") return [];
    const [id, bound] = ["id", "?"].map((each) => this.#connection.facts.anyCase(each));
    return this.#connection.records(
      planShape,
      `SELECT record FROM plans WHERE seq IN (
        SELECT seq FROM plans WHERE name = ?
        UNION SELECT seq FROM plans WHERE ${id} >= ${bound} AND ${id} < ${bound}
      ) ${NEWEST_FIRST}`,
      columnText(key),
      columnText(key),
      `${columnText(key)}${AFTER_ALL}`,
    );
  }

  async listPlans(which: "all" | "open", page?: PlanPage): Promise<readonly PlanRecord[]> {
    const last = page?.behind;
    const conditions = [
      ...(which === "open" ? [PLAN_IS_OPEN] : []),
      ...(last === undefined ? [] : ["(created_at, seq) < (?, (SELECT seq FROM plans WHERE id = ?))"]),
    ];
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    const limit = page === undefined ? "" : `LIMIT ${page.limit}`;
    return this.#connection.records(
      planShape,
      `SELECT record FROM plans ${where} ${NEWEST_FIRST} ${limit}`,
      ...(last === undefined ? [] : [columnText(last.createdAt), columnText(last.id)]),
    );
  }

  async openPlansAmong(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    return this.#connection.texts(
      `SELECT id AS text FROM plans WHERE id IN (${ids.map(() => "?").join(", ")}) AND ${PLAN_IS_OPEN}`,
      ...ids.map(columnText),
    );
  }

  async closedPlanIds(before: string, most: number): Promise<readonly string[]> {
    const ofPlan = "plan_id = plans.id";
    return this.#connection.texts(
      `SELECT id AS text FROM plans WHERE ${PLAN_IS_OVER} AND created_at < ? ${this.#ofThisHost}
        AND coalesce((SELECT ${this.#connection.facts.at} FROM history WHERE ${ofPlan} ORDER BY seq DESC LIMIT 1), '') < ?
        AND NOT EXISTS (SELECT 1 FROM sandboxes WHERE ${ofPlan} AND ${SANDBOX_IS_LIVE})
        AND NOT EXISTS (SELECT 1 FROM sandboxes JOIN intents ON sandbox_id = id WHERE ${ofPlan})
        AND NOT EXISTS (SELECT 1 FROM transactions WHERE ${ofPlan}
          AND (${TRANSACTION_IS_UNFINISHED} OR (${this.#hasUndo})))
        ORDER BY created_at LIMIT ${most}`,
      columnText(before),
      columnText(before),
    );
  }

  async *landedPlanIds(): AsyncGenerator<string> {
    const told = new Set<string>();
    const landedAt = `coalesce(${this.#connection.facts.finishedAt}, started_at)`;
    let [limit, isLast] = [FIRST_PAGE, false];
    while (!isLast) {
      const ids = await this.#connection.texts(
        `SELECT plan_id AS text FROM transactions WHERE ${this.#hasLanded}
          ORDER BY ${landedAt} DESC, seq DESC LIMIT ${limit}`,
      );
      isLast = ids.length < limit;
      limit *= PAGES_GROW;
      for (const id of ids) {
        if (told.has(id)) continue;
        told.add(id);
        yield id;
      }
    }
  }

  async unfinishedPlans(): Promise<readonly PlanRecord[]> {
    return this.#connection.records(
      planShape,
      `SELECT record FROM plans WHERE id IN (
        SELECT id FROM plans WHERE ${PLAN_IS_OPEN} AND ${PLAN_IS_UNFINISHED} ${this.#ofThisHost}
        UNION SELECT plan_id FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND state = 'PENDING'
        UNION SELECT plan_id FROM checkpoints WHERE ${CHECKPOINT_IS_UNFINISHED}
      ) AND ${PLAN_IS_OPEN} ${this.#ofThisHost} ${OLDEST_FIRST}`,
    );
  }

  async sandbox(sandboxId: string): Promise<SandboxRecord | undefined> {
    return await this.#only(sandboxShape, "SELECT record FROM sandboxes WHERE id = ?", sandboxId);
  }

  async sandboxesOf(planId: string): Promise<readonly SandboxRecord[]> {
    return this.#connection.records(
      sandboxShape,
      `SELECT record FROM sandboxes WHERE plan_id = ? ${OLDEST_FIRST}`,
      columnText(planId),
    );
  }

  async liveSandboxes(): Promise<readonly SandboxRecord[]> {
    return this.#connection.records(
      sandboxShape,
      `SELECT record FROM sandboxes WHERE ${SANDBOX_IS_LIVE} ${this.#ofThisHost} ${OLDEST_FIRST}`,
    );
  }

  async sandboxesOutside(folder: string): Promise<readonly SandboxRecord[]> {
    const [below = "", after = ""] = ["/", AFTER_SLASH].map((end) =>
      JSON.stringify(`${folder}${end}`).slice(0, -1),
    );
    const { workspace } = this.#connection.facts;
    return this.#connection.records(
      sandboxShape,
      `SELECT record FROM (
        SELECT * FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND ${workspace} < ? ${this.#ofThisHost}
        UNION ALL SELECT * FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND ${workspace} >= ? ${this.#ofThisHost}
      ) AS outside ${OLDEST_FIRST}`,
      ...[below, after],
    );
  }

  async transaction(id: string): Promise<TransactionRecord | undefined> {
    return await this.#only(transactionShape, "SELECT record FROM transactions WHERE id = ?", id);
  }

  async transactionsOf(planId: string): Promise<readonly TransactionRecord[]> {
    return this.#connection.records(
      transactionShape,
      "SELECT record FROM transactions WHERE plan_id = ? ORDER BY started_at, seq",
      columnText(planId),
    );
  }

  async unfinishedTransactions(): Promise<readonly TransactionRecord[]> {
    return this.#connection.records(
      transactionShape,
      `SELECT record FROM transactions WHERE ${TRANSACTION_IS_UNFINISHED} ${this.#ofThisHost} ORDER BY started_at, seq`,
    );
  }

  async undoRecords(finishedBefore: string): Promise<readonly TransactionRecord[]> {
    return this.#connection.records(
      transactionShape,
      `SELECT record FROM transactions WHERE ${this.#hasUndo}
        AND (${this.#connection.facts.finishedAt} < ? OR ${this.#connection.facts.undoRecord} IS NOT NULL)
        ${this.#ofThisHost} ORDER BY started_at, seq`,
      columnText(finishedBefore),
    );
  }

  async hasUnfinishedWork(): Promise<boolean> {
    return this.#connection.answers(
      `SELECT EXISTS (SELECT 1 FROM transactions WHERE ${TRANSACTION_IS_UNFINISHED} ${this.#ofThisHost})
        OR EXISTS (SELECT 1 FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND state = 'PENDING')
        OR EXISTS (SELECT 1 FROM checkpoints WHERE ${CHECKPOINT_IS_UNFINISHED})
        OR EXISTS (SELECT 1 FROM plans WHERE ${PLAN_IS_OPEN} AND ${PLAN_IS_UNFINISHED} ${this.#ofThisHost})
        AS answer`,
    );
  }

  async checkpointsOf(planId: string): Promise<readonly CheckpointRecord[]> {
    return this.#connection.records(
      checkpointShape,
      "SELECT record FROM checkpoints WHERE plan_id = ? ORDER BY seq",
      columnText(planId),
    );
  }

  async intents(): Promise<readonly IntentRecord[]> {
    const ofThisHost = this.#ofThisHost.replace("AND", "WHERE");
    return this.#connection.records(intentShape, `SELECT record FROM intents ${ofThisHost} ORDER BY seq`);
  }

  async history(planId: string): Promise<readonly HistoryEntry[]> {
    return this.#connection.records(
      historyShape,
      "SELECT record FROM history WHERE plan_id = ? ORDER BY seq",
      columnText(planId),
    );
  }

  async lastEntry(planId: string, events: readonly string[]): Promise<NumberedEntry | undefined> {
    const [found] = await this.#connection.entries(
      `SELECT seq, record FROM history WHERE plan_id = ?
        AND ${this.#connection.facts.event} IN (${events.map(() => "?").join(", ")})
        ORDER BY seq DESC LIMIT 1`,
      ...[columnText(planId), ...events],
    );
    return found;
  }

  async historyAfter(
    seq: number,
    { planId, limit }: { readonly planId?: string | undefined; readonly limit: number },
  ): Promise<readonly NumberedEntry[]> {
    const ofPlan = planId === undefined ? "" : "AND plan_id = ?";
    const values = planId === undefined ? [] : [columnText(planId)];
    return this.#connection.entries(
      `SELECT seq, record FROM history WHERE seq > ? ${ofPlan} ORDER BY seq LIMIT ${limit}`,
      ...[String(seq), ...values],
    );
  }

  async historyAt(seq: number): Promise<NumberedEntry | undefined> {
    const [found] = await this.historyAfter(seq - 1, { limit: 1 });
    return found?.seq === seq ? found : undefined;
  }

  async historyEnd(): Promise<number> {
    return this.#connection.lastNumber();
  }

  async write(changes: readonly StoreChange[], durability: Durability): Promise<void> {
    passFailpoint(failpoint("store.write"));
    await this.#connection.write(changes, durability);
    passFailpoint(failpoint("store.written"));
  }

  async claim(
    keys: readonly string[],
    owner: Owner,
    isAlive: (owner: Owner) => boolean,
  ): Promise<ClaimResult> {
    passFailpoint(failpoint("store.claim"));
    return this.#connection.claim(keys, owner, isAlive);
  }

  async release(keys: readonly string[], owner: Owner): Promise<void> {
    passFailpoint(failpoint("store.release"));
    await this.#connection.release(keys, owner);
  }

  close(): void {
    passFailpoint(failpoint("store.close"));
    this.#connection.close();
  }

  async #only<T>(shape: Shape, sql: string, id: string): Promise<T | undefined> {
    return (await this.#connection.records<T>(shape, sql, columnText(id)))[0];
  }
}
