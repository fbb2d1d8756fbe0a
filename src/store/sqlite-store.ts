import type { CheckpointRecord } from "../core/checkpoint.ts";
import type { Owner } from "../core/owner.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import { failpoint, passFailpoint } from "../system/failpoints.ts";
import { keepReserve } from "../system/state/reserve.ts";
import { claimKeys, releaseKeys } from "./claims.ts";
import {
  checkpointShape,
  historyShape,
  intentShape,
  planShape,
  sandboxShape,
  transactionShape,
} from "./record-shapes.ts";
import { columnText, statementsFor } from "./row-codec.ts";
import { openConnection, type SqliteConnection, type SqliteStoreOptions } from "./sqlite-connection.ts";
import type {
  ClaimResult,
  Durability,
  HistoryEntry,
  IntentRecord,
  NumberedEntry,
  Store,
  StoreChange,
} from "./store.ts";

/**
 * The partial indexes of schema.ts repeat these conditions word for word; only then does SQLite use the
 * indexes.
 */
const PLAN_IS_OPEN = "state NOT IN ('applied', 'undone', 'cancelled', 'abandoned')";
const PLAN_IS_OVER = "state IN ('applied', 'undone', 'cancelled', 'abandoned')";
const PLAN_IS_UNFINISHED = "state IN ('creating', 'adding', 'restoring', 'updating', 'closing')";
const SANDBOX_IS_LIVE = "state <> 'CLEANED_UP'";
const TRANSACTION_IS_UNFINISHED = "phase NOT IN ('done', 'aborted')";

const TRANSACTION_HAS_UNDO = `phase = 'done' AND json_extract(record, '$.direction') = 'commit'
      AND coalesce(json_extract(record, '$.undoRecord'), 'discarding') = 'discarding'`;
const TRANSACTION_HAS_LANDED = `phase IN ('landed', 'done') AND json_extract(record, '$.direction') = 'commit'
      AND coalesce(json_extract(record, '$.undoRecord'), '') <> 'used'`;
const CHECKPOINT_IS_UNFINISHED = "state <> 'saved'";
const WORKSPACE = "record -> '$.ref.metadata.workspace'";

const NEWEST_FIRST = "ORDER BY created_at DESC, seq DESC";
const OLDEST_FIRST = "ORDER BY created_at, seq";

/** Appended to a prefix, sorts after every string with that prefix. */
const AFTER_ALL = "\u{10ffff}";

/** The character after "/": the paths below a folder sort before the folder with this appended. */
const AFTER_SLASH = "0";

/** Opens the durable state in this directory, and makes it if it is missing. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  return new SqliteStore(await openConnection(options), options.stateDir);
}

/**
 * The store in one SQLite database. SQLite's calls are synchronous and short, so each method is done when it
 * returns its promise.
 */
class SqliteStore implements Store {
  readonly #connection: SqliteConnection;
  readonly #stateDir: string;

  constructor(connection: SqliteConnection, stateDir: string) {
    this.#connection = connection;
    this.#stateDir = stateDir;
  }

  async plan(id: string): Promise<PlanRecord | undefined> {
    return this.#connection.record(planShape, "SELECT record FROM plans WHERE id = ?", columnText(id));
  }

  /** The empty key finds nothing: every id begins with it, but it must not stand for the only plan. */
  async findPlans(key: string): Promise<readonly PlanRecord[]> {
    if (key === "") return [];
    return this.#connection.records(
      planShape,
      `SELECT record FROM plans WHERE seq IN (
        SELECT seq FROM plans WHERE name = ?
        UNION SELECT seq FROM plans WHERE id COLLATE NOCASE >= ? AND id COLLATE NOCASE < ?
      ) ${NEWEST_FIRST}`,
      columnText(key),
      columnText(key),
      `${columnText(key)}${AFTER_ALL}`,
    );
  }

  async listPlans(which: "all" | "open"): Promise<readonly PlanRecord[]> {
    const condition = which === "open" ? `WHERE ${PLAN_IS_OPEN}` : "";
    return this.#connection.records(planShape, `SELECT record FROM plans ${condition} ${NEWEST_FIRST}`);
  }

  async openPlanIds(): Promise<readonly string[]> {
    return this.#connection.texts(`SELECT id AS text FROM plans WHERE ${PLAN_IS_OPEN}`);
  }

  async closedPlanIds(before: string, most: number): Promise<readonly string[]> {
    const ofPlan = "plan_id = plans.id";
    return this.#connection.texts(
      `SELECT id AS text FROM plans WHERE ${PLAN_IS_OVER} AND created_at < ?
        AND coalesce((SELECT json_extract(record, '$.at') FROM history WHERE ${ofPlan} ORDER BY seq DESC LIMIT 1), '') < ?
        AND NOT EXISTS (SELECT 1 FROM sandboxes WHERE ${ofPlan} AND ${SANDBOX_IS_LIVE})
        AND NOT EXISTS (SELECT 1 FROM sandboxes JOIN intents ON sandbox_id = id WHERE ${ofPlan})
        AND NOT EXISTS (SELECT 1 FROM transactions WHERE ${ofPlan}
          AND (${TRANSACTION_IS_UNFINISHED} OR (${TRANSACTION_HAS_UNDO})))
        ORDER BY created_at LIMIT ${most}`,
      columnText(before),
      columnText(before),
    );
  }

  async landedPlanIds(): Promise<readonly string[]> {
    return this.#connection.texts(
      `SELECT plan_id AS text FROM transactions WHERE ${TRANSACTION_HAS_LANDED} GROUP BY plan_id
        ORDER BY max(coalesce(json_extract(record, '$.finishedAt'), started_at)) DESC, max(seq) DESC`,
    );
  }

  async unfinishedPlans(): Promise<readonly PlanRecord[]> {
    return this.#connection.records(
      planShape,
      `SELECT record FROM plans WHERE id IN (
        SELECT id FROM plans WHERE ${PLAN_IS_OPEN} AND ${PLAN_IS_UNFINISHED}
        UNION SELECT plan_id FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND state = 'PENDING'
        UNION SELECT plan_id FROM checkpoints WHERE ${CHECKPOINT_IS_UNFINISHED}
      ) AND ${PLAN_IS_OPEN} ${OLDEST_FIRST}`,
    );
  }

  async sandbox(sandboxId: string): Promise<SandboxRecord | undefined> {
    return this.#connection.record(
      sandboxShape,
      "SELECT record FROM sandboxes WHERE id = ?",
      columnText(sandboxId),
    );
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
      `SELECT record FROM sandboxes WHERE ${SANDBOX_IS_LIVE} ${OLDEST_FIRST}`,
    );
  }

  /** Compares workspaces as JSON, which SQLite stores unchanged, so that no two folders compare as equal. */
  async sandboxesOutside(folder: string): Promise<readonly SandboxRecord[]> {
    const [below = "", after = ""] = ["/", AFTER_SLASH].map((end) =>
      JSON.stringify(`${folder}${end}`).slice(0, -1),
    );
    return this.#connection.records(
      sandboxShape,
      `SELECT record FROM (
        SELECT * FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND ${WORKSPACE} < ?
        UNION ALL SELECT * FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND ${WORKSPACE} >= ?
      ) ${OLDEST_FIRST}`,
      ...[below, after],
    );
  }

  async transaction(id: string): Promise<TransactionRecord | undefined> {
    return this.#connection.record(
      transactionShape,
      "SELECT record FROM transactions WHERE id = ?",
      columnText(id),
    );
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
      `SELECT record FROM transactions WHERE ${TRANSACTION_IS_UNFINISHED} ORDER BY started_at, seq`,
    );
  }

  async undoRecords(finishedBefore: string): Promise<readonly TransactionRecord[]> {
    return this.#connection.records(
      transactionShape,
      `SELECT record FROM transactions WHERE ${TRANSACTION_HAS_UNDO}
        AND (json_extract(record, '$.finishedAt') < ? OR json_extract(record, '$.undoRecord') IS NOT NULL)
        ORDER BY started_at, seq`,
      columnText(finishedBefore),
    );
  }

  async hasUnfinishedWork(): Promise<boolean> {
    return this.#connection.answers(
      `SELECT EXISTS (SELECT 1 FROM transactions WHERE ${TRANSACTION_IS_UNFINISHED})
        OR EXISTS (SELECT 1 FROM sandboxes WHERE ${SANDBOX_IS_LIVE} AND state = 'PENDING')
        OR EXISTS (SELECT 1 FROM checkpoints WHERE ${CHECKPOINT_IS_UNFINISHED})
        OR EXISTS (SELECT 1 FROM plans WHERE ${PLAN_IS_OPEN} AND ${PLAN_IS_UNFINISHED}) AS answer`,
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
    return this.#connection.records(intentShape, "SELECT record FROM intents ORDER BY seq");
  }

  async history(planId: string): Promise<readonly HistoryEntry[]> {
    return this.#connection.records(
      historyShape,
      "SELECT record FROM history WHERE plan_id = ? ORDER BY seq",
      columnText(planId),
    );
  }

  async lastEntry(planId: string, events: readonly string[]): Promise<NumberedEntry | undefined> {
    const [found] = this.#connection.numbered<HistoryEntry>(
      historyShape,
      `SELECT seq, record FROM history WHERE plan_id = ?
        AND json_extract(record, '$.event') IN (${events.map(() => "?").join(", ")})
        ORDER BY seq DESC LIMIT 1`,
      ...[columnText(planId), ...events],
    );
    return found && { seq: found[0], entry: found[1] };
  }

  /**
   * A reader that has seen one entry never meets a smaller `seq` later: SQLite gives the numbers inside of a
   * write transaction, of which there is one at a time, and gives none twice, though entries go with plans.
   */
  async historyAfter(
    seq: number,
    { planId, limit }: { readonly planId?: string | undefined; readonly limit: number },
  ): Promise<readonly NumberedEntry[]> {
    const ofPlan = planId === undefined ? "" : "AND plan_id = ?";
    const values = planId === undefined ? [] : [columnText(planId)];
    return this.#connection
      .numbered<HistoryEntry>(
        historyShape,
        `SELECT seq, record FROM history WHERE seq > ? ${ofPlan} ORDER BY seq LIMIT ${limit}`,
        ...[String(seq), ...values],
      )
      .map(([number, entry]) => ({ seq: number, entry }));
  }

  async historyAt(seq: number): Promise<NumberedEntry | undefined> {
    const [found] = await this.historyAfter(seq - 1, { limit: 1 });
    return found?.seq === seq ? found : undefined;
  }

  async historyEnd(): Promise<number> {
    const [last] = this.#connection.texts("SELECT seq AS text FROM sqlite_sequence WHERE name = 'history'");
    return Number(last ?? 0);
  }

  async write(changes: readonly StoreChange[], durability: Durability): Promise<void> {
    passFailpoint(failpoint("store.write"));
    this.#connection.transaction(durability, () => {
      for (const change of changes) {
        for (const { sql, values } of statementsFor(change)) this.#connection.run(sql, ...values);
      }
    });
    passFailpoint(failpoint("store.written"));
  }

  async claim(
    keys: readonly string[],
    owner: Owner,
    isAlive: (owner: Owner) => boolean,
  ): Promise<ClaimResult> {
    passFailpoint(failpoint("store.claim"));
    return claimKeys(this.#connection, keys, owner, isAlive);
  }

  async release(keys: readonly string[], owner: Owner): Promise<void> {
    passFailpoint(failpoint("store.release"));
    releaseKeys(this.#connection, keys, owner);
  }

  close(): void {
    passFailpoint(failpoint("store.close"));
    this.#connection.close();
    // Refills the reserve, which the command may have used to make room.
    keepReserve(this.#stateDir);
  }
}
