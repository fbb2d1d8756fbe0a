import { escapeLiteral } from "pg";
import type { TransactionRecord } from "../../core/transaction.ts";
import { transactionShape } from "../../store/record-shapes.ts";
import type { StoreChange } from "../../store/store.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { Driver } from "../protocol/call.ts";
import { type Decision, isOver, type SaveResult, type TransactionRow } from "../protocol/transaction-row.ts";
import { isRefusal, type PostgresRecords, unlessNothing } from "../store/postgres-store.ts";

/** A transaction over hosts that has not ended. */
export interface OpenTransaction {
  readonly id: string;
  readonly planId: string;
  readonly phase: TransactionRecord["phase"];
  readonly driver: Driver;
  /** Since when it is in this phase. */
  readonly since: string;
  /** Whether its driver still has its lease. */
  readonly isDriven: boolean;
}

const POINTS = {
  begin: failpoint("fleet.begin"),
  began: failpoint("fleet.began"),
  decide: failpoint("fleet.decide"),
  decided: failpoint("fleet.decided"),
  save: failpoint("fleet.save"),
  saved: failpoint("fleet.saved"),
  takeOver: failpoint("fleet.take-over"),
  giveUp: failpoint("fleet.give-up"),
};

const text = escapeLiteral;

/**
 * What the database holds of transactions over hosts (protocol/transaction-row.ts). Each rule is a condition
 * on one row, so it holds whatever happens at the same time.
 */
export class TransactionRows {
  readonly #records: PostgresRecords;

  constructor(records: PostgresRecords) {
    this.#records = records;
  }

  /** Records a transaction, and gives it the claims of the operation that begins it. */
  async begin(
    record: TransactionRecord,
    driver: Driver,
    { changes, owner }: { readonly changes: readonly StoreChange[]; readonly owner: string },
  ): Promise<TransactionRow> {
    passFailpoint(POINTS.begin);
    const { id, planId, phase, direction } = record;
    const values = [id, planId, phase, direction].map(text).join(", ");
    const by = [text(driver.host), driver.epoch, text(driver.process)].join(", ");
    await this.#records.write(changes, "durable", [
      unlessNothing(
        `UPDATE claims SET owner_id = ${text(id)}, transaction = ${text(id)} WHERE owner_id = ${text(owner)}`,
      ),
      `INSERT INTO fleet_transactions
        (id, plan_id, phase, direction, version, driver_host, driver_epoch, driver_process)
        VALUES (${values}, 1, ${by})`,
    ]);
    passFailpoint(POINTS.began);
    return { record, version: 1, driver };
  }

  async read(id: string): Promise<TransactionRow | undefined> {
    const [row] = await this.#records.run(`SELECT ${ROW} WHERE f.id = ${text(id)}`);
    return row === undefined ? undefined : this.rowFrom(row);
  }

  /** A row of the columns `ROW`. */
  rowFrom(row: readonly (string | null)[]): TransactionRow {
    const [version, decision, givenUp, host, epoch, process, record] = row;
    return {
      record: this.#records.record(transactionShape, record),
      version: Number(version),
      driver: { host: host ?? "", epoch: Number(epoch), process: process ?? "" },
      ...(decision !== null && { decision: decision as Decision }),
      ...(givenUp === "t" && { givenUp: true }),
    };
  }

  /** Writes the decision, unless it is written, and says what it is. */
  async decide(id: string, decision: Decision): Promise<Decision | undefined> {
    passFailpoint(POINTS.decide);
    const [[decided] = []] = await this.#records.run(
      `UPDATE fleet_transactions SET decision = coalesce(decision, ${text(decision)})
        WHERE id = ${text(id)} RETURNING decision`,
    );
    passFailpoint(POINTS.decided);
    return decided === undefined ? undefined : (decided as Decision);
  }

  /** Saves a record with what follows from it, by compare-and-set. The claims go with the end. */
  async save(
    row: TransactionRow,
    record: TransactionRecord,
    changes: readonly StoreChange[],
  ): Promise<SaveResult> {
    passFailpoint(POINTS.save);
    const id = text(record.id);
    const phase = text(record.phase);
    const next = { ...row, record, version: row.version + 1 };
    try {
      await this.#records.write(changes, "durable", [
        unlessNothing(`UPDATE fleet_transactions SET version = version + 1, phase = ${phase},
          phase_at = CASE WHEN phase = ${phase} THEN phase_at ELSE clock_timestamp() END
          WHERE id = ${id} AND version = ${row.version} AND NOT (given_up AND ${phase} = 'landed')`),
        ...(isOver(next) ? [`DELETE FROM claims WHERE transaction = ${id}`] : []),
      ]);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      const now = await this.read(record.id);
      const isGivenUp = now?.version === row.version && now.givenUp === true;
      return { was: isGivenUp ? "given-up" : "conflict" };
    }
    passFailpoint(POINTS.saved);
    return { was: "saved", row: next };
  }

  /**
   * Makes this process the driver, if the driver so far has lost its lease, or is `dead`, a process of this
   * host; or if a person goes on with what is in doubt.
   */
  async takeOver(id: string, me: Driver, dead?: string): Promise<TransactionRow | undefined> {
    passFailpoint(POINTS.takeOver);
    const isDead = dead === undefined ? "false" : `driver_process = ${text(dead)}`;
    const [row] = await this.#records.run(
      `UPDATE fleet_transactions f SET version = version + 1, driver_host = ${text(me.host)},
        driver_epoch = ${me.epoch}, driver_process = ${text(me.process)}
        WHERE id = ${text(id)} AND phase NOT IN ('done', 'aborted')
        AND (phase = 'in-doubt' OR ${isDead} OR NOT (${HAS_LEASE}))`,
      `SELECT ${ROW} WHERE f.id = ${text(id)} AND driver_process = ${text(me.process)}
        AND driver_host = ${text(me.host)} AND driver_epoch = ${me.epoch}`,
    );
    return row === undefined ? undefined : this.rowFrom(row);
  }

  /** A person gives up a landing that can't finish. Says whether it is given up now. */
  async giveUp(id: string): Promise<boolean> {
    passFailpoint(POINTS.giveUp);
    const [[isGivenUp] = []] = await this.#records.run(
      `UPDATE fleet_transactions SET given_up = true
        WHERE id = ${text(id)} AND phase = 'landing' AND direction = 'commit'`,
      `SELECT given_up OR phase = 'aborting' FROM fleet_transactions WHERE id = ${text(id)}`,
    );
    return isGivenUp === "t";
  }

  /** The transactions that have not ended; those of one plan, if it is named. */
  async open(planId?: string): Promise<readonly OpenTransaction[]> {
    const ofPlan = planId === undefined ? "" : `AND plan_id = ${text(planId)}`;
    const rows = await this.#records.run(
      `SELECT id, plan_id, phase, driver_host, driver_epoch, driver_process, ${ISO("phase_at")}, ${HAS_LEASE}
        FROM fleet_transactions f WHERE phase NOT IN ('done', 'aborted') ${ofPlan} ORDER BY id`,
    );
    return rows.map(([id, plan, phase, host, epoch, process, since, isDriven]) => ({
      id: id ?? "",
      planId: plan ?? "",
      phase: phase as TransactionRecord["phase"],
      driver: { host: host ?? "", epoch: Number(epoch), process: process ?? "" },
      since: since ?? "",
      isDriven: isDriven === "t",
    }));
  }

  /** Removes the rows of what has been over for long. Its record stays. */
  async prune(): Promise<void> {
    await this.#records.run(
      `DELETE FROM fleet_transactions WHERE phase IN ('done', 'aborted')
        AND phase_at < now() - interval '7 days'`,
    );
  }
}

/** The columns of a transaction, and where they are. */
export const ROW = `f.version, f.decision, f.given_up, f.driver_host, f.driver_epoch, f.driver_process, t.record
  FROM fleet_transactions f JOIN transactions t ON t.id = f.id`;

const HAS_LEASE = `EXISTS (SELECT FROM hosts h WHERE h.name = f.driver_host AND h.epoch = f.driver_epoch
  AND h.until > clock_timestamp())`;

/** A time as ISO 8601. */
export function ISO(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
