import type { StoreChange } from "./store.ts";

/** A statement with its values, in order. */
export interface BoundStatement {
  readonly sql: string;
  readonly values: readonly string[];
}

/**
 * A string as a column holds it. Most are stored unchanged, so that people can read them. SQLite would change
 * a lone surrogate, so a string with one is stored as its JSON. So is a string that begins with a quote,
 * because no two strings may share a stored form.
 */
export function columnText(text: string): string {
  return text.isWellFormed() && !text.startsWith('"') ? text : JSON.stringify(text);
}

type Put = Extract<StoreChange, { readonly put: string }>;
type Kind = Put["put"];
type RecordOf<K extends Kind> = Extract<Put, { readonly put: K }>["record"];

/** The table for records of a kind, and its columns for queries beside the record. */
interface Table<Record> {
  readonly table: string;
  readonly columns: (record: Record) => { readonly [column: string]: string };
  /** A record replaces the older one with the same key; without a key each record is added. */
  readonly key: readonly string[];
}

const TABLES: { readonly [K in Kind]: Table<RecordOf<K>> } = {
  plan: {
    table: "plans",
    columns: ({ id, name, state, createdAt }) => ({ id, name, state, created_at: createdAt }),
    key: ["id"],
  },
  sandbox: {
    table: "sandboxes",
    columns: ({ ref, state, createdAt }) => ({
      id: ref.sandboxId,
      plan_id: ref.planId,
      state,
      created_at: createdAt,
    }),
    key: ["id"],
  },
  transaction: {
    table: "transactions",
    columns: ({ id, planId, phase, startedAt }) => ({ id, plan_id: planId, phase, started_at: startedAt }),
    key: ["id"],
  },
  // A repeated creation replaces the intent for the same place, so that the intent names the new owner.
  intent: {
    table: "intents",
    columns: ({ sandboxId, kind, location }) => ({ sandbox_id: sandboxId, kind, location }),
    key: ["sandbox_id", "kind", "location"],
  },
  history: { table: "history", columns: ({ planId }) => ({ plan_id: planId }), key: [] },
  checkpoint: {
    table: "checkpoints",
    columns: ({ id, planId, state }) => ({ id, plan_id: planId, state }),
    key: ["id"],
  },
};

/** The statements that make this change. */
export function statementsFor(change: StoreChange): readonly BoundStatement[] {
  if ("put" in change) return [put(TABLES[change.put] as Table<Put["record"]>, change.record)];
  switch (change.drop) {
    case "intents":
      return [deletion("intents", "sandbox_id", change.sandboxId)];
    case "sandbox":
      return [deletion("sandboxes", "id", change.sandboxId)];
    case "checkpoint":
      return [deletion("checkpoints", "id", change.id)];
    case "plan":
      return [
        ...["sandboxes", "transactions", "checkpoints", "history"].map((table) =>
          deletion(table, "plan_id", change.planId),
        ),
        deletion("plans", "id", change.planId),
      ];
  }
}

function deletion(table: string, column: string, value: string): BoundStatement {
  return { sql: `DELETE FROM ${table} WHERE ${column} = ?`, values: [columnText(value)] };
}

function put<Record extends object>({ table, columns, key }: Table<Record>, record: Record): BoundStatement {
  const values = { ...columns(record), record: JSON.stringify(record) };
  const names = Object.keys(values);
  const insert = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  const others = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  return {
    sql:
      key.length === 0
        ? insert
        : `${insert} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${others.join(", ")}`,
    values: names.map((name) =>
      name === "record" ? values.record : columnText(String(Reflect.get(values, name))),
    ),
  };
}
