import { createHash } from "node:crypto";
import { SandboxRollbackError, UsageError } from "../../core/errors.ts";
import type { StatementResult } from "../../core/query.ts";
import type { TransactionPolicy } from "../../core/strategy-policies.ts";
import { rowJson } from "../../database/row-json.ts";
import type { Evidence, ServerDatabase, ServerStatement, TransactionName } from "../../database/server-database.ts";
import type { HeldStatus, LoggedStatement } from "./keeper-protocol.ts";

/** What was done in a transaction, in order. */
type Step =
  | { readonly did: "run"; readonly script: string; readonly statements: readonly LoggedStatement[] }
  | { readonly did: "checkpoint"; readonly checkpointId: string; readonly number: number };

/** What a replay needs: everything that was done, and is still in effect. */
export type Steps = readonly Step[];

/**
 * One transaction on a connection, with a record of everything that was done in it: for showing what it would change, and for doing the same again in
 * another one when this one was taken back after it had been prepared.
 */
export class HeldTransaction {
  readonly #database: ServerDatabase;
  readonly #now: () => Date;
  readonly #beganAt: Date;
  #usedAt: Date;
  #steps: Step[] = [];
  /** What was in effect before the last restore. */
  #before: Steps = [];
  #savepoints = 0;

  private constructor(database: ServerDatabase, now: () => Date) {
    this.#database = database;
    this.#now = now;
    this.#beganAt = now();
    this.#usedAt = this.#beganAt;
  }

  static async begin(database: ServerDatabase, name: TransactionName, now: () => Date): Promise<HeldTransaction> {
    await database.begin(name);
    return new HeldTransaction(database, now);
  }

  get steps(): Steps {
    return this.#steps;
  }

  status({ idleMilliseconds, ageMilliseconds }: TransactionPolicy): HeldStatus {
    const after = (time: Date, milliseconds: number) => new Date(time.getTime() + milliseconds).toISOString();
    return {
      beganAt: this.#beganAt.toISOString(),
      idleEnd: after(this.#usedAt, idleMilliseconds),
      end: after(this.#beganAt, ageMilliseconds),
    };
  }

  /** The statements that are in effect, those that only read included. */
  get log(): readonly LoggedStatement[] {
    return this.#steps.flatMap((step) => (step.did === "run" ? step.statements : []));
  }

  async run(script: string, readOnly: boolean): Promise<readonly StatementResult[]> {
    this.#usedAt = this.#now();
    const results = await this.#database.run(script, { readOnly });
    this.#usedAt = this.#now();
    if (!readOnly && results.length > 0) this.#steps.push({ did: "run", script, statements: results.map(logged) });
    return results.map(({ columns, rows, changes }) => ({ columns, rows, changes }));
  }

  async table(name: string): Promise<StatementResult> {
    this.#usedAt = this.#now();
    const { columns, rows, changes } = await this.#database.table(name);
    return { columns, rows, changes };
  }

  async checkpoint(checkpointId: string): Promise<void> {
    this.#usedAt = this.#now();
    const number = this.#savepoints + 1;
    await this.#database.savepoint(number);
    this.#savepoints = number;
    this.#steps.push({ did: "checkpoint", checkpointId, number });
  }

  /**
   * What was done since is undone; the checkpoint stays, later ones are gone. One that went so in the last restore can still be restored: what
   * was done up to it is done again.
   */
  async restore(checkpointId: string): Promise<void> {
    this.#usedAt = this.#now();
    const isIt = (step: Step) => step.did === "checkpoint" && step.checkpointId === checkpointId;
    const at = this.#steps.findLastIndex(isIt);
    if (at >= 0) return await this.#backTo(at);
    const before = this.#before;
    const end = before.findLastIndex(isIt);
    const shared = before.findIndex((step, position) => this.#steps[position] !== step);
    const start = before.slice(0, shared).findLastIndex(({ did }) => did === "checkpoint");
    if (end < 0 || start < 0)
      throw new UsageError(`There is no checkpoint ${checkpointId}.`, {
        hint: "One that lies after a checkpoint that was restored is gone.",
        code: "UNKNOWN_CHECKPOINT",
      });
    await this.#backTo(start);
    const gone = this.#before;
    // Until it is done again it has to stay known, however often that is tried.
    this.#before = before;
    const differs = await this.replay(before.slice(start + 1, end + 1));
    if (differs === undefined) {
      this.#before = gone;
      return;
    }
    throw new SandboxRollbackError(`The checkpoint ${checkpointId} could not be restored: ${differs}`, {
      hint: "Look at what is in the sandbox with 'drydock plan diff'.",
    });
  }

  async #backTo(at: number): Promise<void> {
    const step = this.#steps[at];
    if (step?.did !== "checkpoint") throw new Error("Only a checkpoint can be gone back to.");
    await this.#database.rollbackTo(step.number);
    // Where nothing was done since, as when a restore is gone on with after a crash, this is not another restore.
    if (at < this.#steps.length - 1) this.#before = this.#steps;
    this.#steps = this.#steps.slice(0, at + 1);
  }

  async prepare(marker: string | undefined): Promise<Evidence> {
    return await this.#database.prepare(marker);
  }

  async commit(): Promise<void> {
    await this.#database.commit();
  }

  /** Does again what was done in another transaction; returns why it did not give the same. */
  async replay(steps: Steps): Promise<string | undefined> {
    for (const step of steps) {
      if (step.did === "checkpoint") await this.checkpoint(step.checkpointId);
      else {
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

function logged({ sql, effect, rows, columns, changes }: ServerStatement): LoggedStatement {
  const digest = createHash("sha256").update(JSON.stringify([columns, changes]));
  for (const row of rows) digest.update(rowJson(columns, row));
  return { sql, effect, rows: changes, digest: digest.digest("hex") };
}
