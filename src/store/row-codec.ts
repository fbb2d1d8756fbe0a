import type { CheckpointRecord } from "../core/checkpoint.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { TransactionRecord } from "../core/transaction.ts";
import type { HistoryEntry, IntentRecord, StoreChange } from "./store.ts";

/** A statement with its values, in order. */
export interface BoundStatement {
  readonly sql: string;
  readonly values: readonly string[];
}

/**
 * A string as a column holds it. Most are kept as they are, to be readable by people; those with a lone surrogate, which SQLite's text
 * would change, are kept as their JSON. What begins with a quote is kept as JSON too, so that no two strings share a form.
 */
export function columnText(text: string): string {
  return text.isWellFormed() && !text.startsWith('"') ? text : JSON.stringify(text);
}

/** The statement that makes this change. */
export function statementFor(change: StoreChange): BoundStatement {
  if ("drop" in change) return dropped(change);
  switch (change.put) {
    case "plan":
      return putPlan(change.record);
    case "sandbox":
      return putSandbox(change.record);
    case "transaction":
      return putTransaction(change.record);
    case "intent":
      return putIntent(change.record);
    case "history":
      return putHistory(change.record);
    case "checkpoint":
      return putCheckpoint(change.record);
  }
}

function dropped(change: Extract<StoreChange, { readonly drop: string }>): BoundStatement {
  if (change.drop === "intents")
    return { sql: "DELETE FROM intents WHERE sandbox_id = ?", values: [columnText(change.sandboxId)] };
  return { sql: "DELETE FROM checkpoints WHERE id = ?", values: [columnText(change.id)] };
}

function putPlan(record: PlanRecord): BoundStatement {
  return {
    sql: `INSERT INTO plans (id, name, state, created_at, record) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET
        name = excluded.name, state = excluded.state, created_at = excluded.created_at, record = excluded.record`,
    values: bound(record, record.id, record.name, record.state, record.createdAt),
  };
}

function putSandbox(record: SandboxRecord): BoundStatement {
  return {
    sql: `INSERT INTO sandboxes (id, plan_id, state, created_at, record) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET
        plan_id = excluded.plan_id, state = excluded.state, created_at = excluded.created_at, record = excluded.record`,
    values: bound(record, record.ref.sandboxId, record.ref.planId, record.state, record.createdAt),
  };
}

function putTransaction(record: TransactionRecord): BoundStatement {
  return {
    sql: `INSERT INTO transactions (id, plan_id, phase, started_at, record) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET
        plan_id = excluded.plan_id, phase = excluded.phase, started_at = excluded.started_at, record = excluded.record`,
    values: bound(record, record.id, record.planId, record.phase, record.startedAt),
  };
}

/** The same place of the same sandbox again replaces the record, so that a creation that is tried again has its new owner. */
function putIntent(record: IntentRecord): BoundStatement {
  return {
    sql: `INSERT INTO intents (sandbox_id, kind, location, record) VALUES (?, ?, ?, ?)
      ON CONFLICT (sandbox_id, kind, location) DO UPDATE SET record = excluded.record`,
    values: bound(record, record.sandboxId, record.kind, record.location),
  };
}

function putHistory(record: HistoryEntry): BoundStatement {
  return {
    sql: "INSERT INTO history (plan_id, record) VALUES (?, ?)",
    values: bound(record, record.planId),
  };
}

function putCheckpoint(record: CheckpointRecord): BoundStatement {
  return {
    sql: `INSERT INTO checkpoints (id, plan_id, state, record) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET plan_id = excluded.plan_id, state = excluded.state, record = excluded.record`,
    values: bound(record, record.id, record.planId, record.state),
  };
}

/** The columns, then the record itself. */
function bound(record: object, ...columns: readonly string[]): readonly string[] {
  return [...columns.map(columnText), JSON.stringify(record)];
}
