import { createHash } from "node:crypto";
import { SandboxRollbackError, UnsupportedError, UsageError } from "../../../core/errors/errors.ts";
import type { TransactionPolicy } from "../../../core/strategy-policies.ts";
import type { ChangedRows, RowRange } from "../../../core/values/changed-rows.ts";
import type { StatementResult } from "../../../core/values/query.ts";
import { rowJson } from "../../../database/common/row-json.ts";
import type { ClientUnit } from "../../../database/server/client-unit.ts";
import type {
  Evidence,
  ServerDatabase,
  ServerStatement,
  TransactionName,
} from "../../../database/server/server-database.ts";
import type { LoggedStatement, TransactionStatus } from "../holder-protocol.ts";

/** One thing done in a transaction. */
type Step =
  | { readonly did: "run"; readonly script: string; readonly statements: readonly LoggedStatement[] }
  | { readonly did: "serve"; readonly unit: ClientUnit }
  | { readonly did: "checkpoint"; readonly checkpointId: string; readonly number: number };

/** Everything done in a transaction that is still in effect, in order: what a replay needs. */
export type TransactionSteps = readonly Step[];

/**
 * One transaction on a connection, with a record of everything done in it: to show what it would change, and
 * to do the same again in another one after this one was prepared and taken back.
 */
export class RecordedTransaction {
  readonly #database: ServerDatabase;
  readonly #now: () => Date;
  readonly #beganAt: Date;
  #usedAt: Date;
  #steps: Step[] = [];
  /** The steps in effect before the last restore. */
  #before: TransactionSteps = [];
  #savepoints = 0;
  #size = 0;

  private constructor(database: ServerDatabase, now: () => Date) {
    this.#database = database;
    this.#now = now;
    this.#beganAt = now();
    this.#usedAt = this.#beganAt;
  }

  static async begin(
    database: ServerDatabase,
    name: TransactionName,
    now: () => Date,
  ): Promise<RecordedTransaction> {
    await database.begin(name);
    return new RecordedTransaction(database, now);
  }

  get steps(): TransactionSteps {
    return this.#steps;
  }

  /** The steps that were in effect before the last restore. */
  get before(): TransactionSteps {
    return this.#before;
  }

  status({ idleMilliseconds, ageMilliseconds }: TransactionPolicy): TransactionStatus {
    const after = (time: Date, milliseconds: number) => new Date(time.getTime() + milliseconds).toISOString();
    return {
      beganAt: this.#beganAt.toISOString(),
      idleEnd: after(this.#usedAt, idleMilliseconds),
      end: after(this.#beganAt, ageMilliseconds),
    };
  }

  /** The statements that are in effect, those that only read included; only those before a checkpoint. */
  log(checkpointId?: string): readonly LoggedStatement[] {
    const end =
      checkpointId === undefined ? this.#steps.length : this.#steps.findLastIndex(isOf(checkpointId));
    if (end < 0) throw noCheckpoint(checkpointId);
    return this.#steps.slice(0, end).flatMap(statementsOf);
  }

  /** A client of the server's own protocol did something that stays. */
  served(unit: ClientUnit): void {
    this.#usedAt = this.#now();
    this.#size += unit.size;
    this.#steps.push({ did: "serve", unit: this.#size > MOST_BYTES ? withoutWork(unit) : unit });
  }

  async run(script: string, readOnly: boolean): Promise<readonly StatementResult[]> {
    this.#usedAt = this.#now();
    const results = await this.#database.run(script, { readOnly });
    this.#usedAt = this.#now();
    if (!readOnly && results.length > 0)
      this.#steps.push({ did: "run", script, statements: results.map(logged) });
    return results.map(({ columns, rows, changes }) => ({ columns, rows, changes }));
  }

  async table(name: string): Promise<StatementResult> {
    this.#usedAt = this.#now();
    const { columns, rows, changes } = await this.#database.table(name);
    return { columns, rows, changes };
  }

  async rows(table: string, range: RowRange): Promise<ChangedRows> {
    this.#usedAt = this.#now();
    const rows = await this.#database.changedRows?.(table, range);
    if (rows !== undefined) return rows;
    throw new UnsupportedError(
      `The rows can't be shown: ${this.#database.product} does not tell which rows a transaction has changed.`,
      { hint: "See the statements." },
    );
  }

  async checkpoint(checkpointId: string): Promise<void> {
    this.#usedAt = this.#now();
    const number = this.#savepoints + 1;
    await this.#database.savepoint(number);
    this.#savepoints = number;
    this.#steps.push({ did: "checkpoint", checkpointId, number });
  }

  /**
   * Undoes everything since the checkpoint; the checkpoint stays, later ones are gone. One that the last
   * restore removed can still be restored: the steps up to it run again.
   */
  async restore(checkpointId: string): Promise<void> {
    this.#usedAt = this.#now();
    const isIt = isOf(checkpointId);
    const at = this.#steps.findLastIndex(isIt);
    if (at >= 0) return await this.#backTo(at);
    const before = this.#before;
    const end = before.findLastIndex(isIt);
    const shared = before.findIndex((step, position) => this.#steps[position] !== step);
    const start = before.slice(0, shared).findLastIndex(({ did }) => did === "checkpoint");
    if (end < 0 || start < 0) throw noCheckpoint(checkpointId);
    await this.#backTo(start);
    const gone = this.#before;
    // The steps stay known until they have run again, however often that is tried.
    this.#before = before;
    const differs = await this.replay(before.slice(start + 1, end + 1));
    if (differs === undefined) {
      this.#before = gone;
      return;
    }
    throw new SandboxRollbackError(`The checkpoint ${checkpointId} could not be restored: ${differs}`, {
      hint: "The diff of the plan shows what is in the sandbox.",
    });
  }

  /** Takes over what can be restored from a transaction whose steps this one has done again. */
  continue({ steps, before }: Pick<RecordedTransaction, "steps" | "before">): void {
    const shared = before.findIndex((step, position) => steps[position] !== step);
    const known = shared < 0 ? before.length : shared;
    this.#before = [...this.#steps.slice(0, known), ...before.slice(known)];
  }

  async #backTo(at: number): Promise<void> {
    const step = this.#steps[at];
    if (step?.did !== "checkpoint") throw new Error("Only a checkpoint can be gone back to.");
    await this.#database.rollbackTo(step.number);
    // With no step since, as when a restore goes on after a crash, this is not another restore.
    if (at < this.#steps.length - 1) this.#before = this.#steps;
    this.#steps = this.#steps.slice(0, at + 1);
  }

  async check(): Promise<void> {
    this.#usedAt = this.#now();
    await this.#database.check();
  }

  async prepare(marker: string | undefined): Promise<Evidence> {
    return await this.#database.prepare(marker);
  }

  async commit(): Promise<void> {
    await this.#database.commit();
  }

  /** Runs the steps of another transaction again; returns why the results differ. */
  async replay(steps: TransactionSteps): Promise<string | undefined> {
    for (const step of steps) {
      if (step.did === "checkpoint") await this.checkpoint(step.checkpointId);
      else if (step.did === "serve") {
        const differs = await this.#database.repeat?.(step.unit);
        if (differs !== undefined) return differs;
        this.#steps.push(step);
      } else {
        const differs = await this.#again(step.script, step.statements);
        if (differs !== undefined) return differs;
      }
    }
    return undefined;
  }

  async #again(script: string, before: readonly LoggedStatement[]): Promise<string | undefined> {
    await this.run(script, false);
    const last = this.#steps.at(-1);
    const now = last?.did === "run" ? last.statements : [];
    const other = before.find(({ digest }, at) => now[at]?.digest !== digest);
    return other === undefined ? undefined : `it now gives something else: ${other.sql}`;
  }
}

function isOf(checkpointId: string | undefined): (step: Step) => boolean {
  return (step) => step.did === "checkpoint" && step.checkpointId === checkpointId;
}

function noCheckpoint(checkpointId: string | undefined): UsageError {
  return new UsageError(`There is no checkpoint ${checkpointId}.`, {
    hint: "One that lies after a checkpoint that was restored is gone.",
    code: "UNKNOWN_CHECKPOINT",
  });
}

function statementsOf(step: Step): readonly LoggedStatement[] {
  if (step.did === "run") return step.statements;
  return step.did === "serve" ? step.unit.statements : [];
}

/** A transaction keeps no more than this of what its clients did, to do it again. */
const MOST_BYTES = 128 << 20;

function withoutWork({ statements }: ClientUnit): ClientUnit {
  const whyNot = `clients sent more than ${MOST_BYTES >> 20} MiB`;
  return { statements, size: 0, again: { whyNot } };
}

function logged({ sql, effect, rows, columns, changes }: ServerStatement): LoggedStatement {
  const digest = createHash("sha256").update(JSON.stringify([columns, changes]));
  for (const row of rows) digest.update(rowJson(columns, row));
  return { sql, effect, rows: changes, digest: digest.digest("hex") };
}
