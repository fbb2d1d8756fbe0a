import type { StoreChange } from "./store.ts";

/** A statement with its values, in order. */
export interface BoundStatement {
  readonly sql: string;
  readonly values: readonly string[];
}

/**
 * A string as a column holds it. Most are stored unchanged, so that people can read them. SQLite would change
 * a lone surrogate, and PostgreSQL takes no NUL, so a string with one is stored as its JSON. So is a string
 * that begins with a quote, because no two strings may share a stored form.
 */
export function columnText(text: string): string {
  return text.isWellFormed() && !text.startsWith('"') && !text.includes("\0") ? text : JSON.stringify(text);
}

type Put = Extract<StoreChange, { readonly put: string }>;
type Kind = Put["put"];
type RecordOf<K extends Kind> = Extract<Put, { readonly put: K }>["record"];

/** The table for records of a kind, and its columns for queries beside the record. */
interface Table<Record> {
  readonly table: string;
  readonly columns: (record: Record) => { readonly [column: string]: string };
  /**
   * Facts that queries need too. SQLite looks for them in the record. PostgreSQL can't look into JSON with
   * half a pair or NUL, so it has columns for them, which are empty where the fact is missing.
   */
  readonly facts?: (record: Record) => { readonly [column: string]: string | undefined };
  /** A record replaces the older one with the same key; without a key each record is added. */
  readonly key: readonly string[];
}

const TABLES: { readonly [K in Kind]: Table<RecordOf<K>> } = {
  plan: {
    table: "plans",
    columns: ({ id, name, state, createdAt }) => ({ id, name, state, created_at: createdAt }),
    facts: ({ host }) => ({ host }),
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
    facts: ({ ref }) => ({ workspace: workspaceOf(ref.metadata["workspace"]), host: ref.host }),
    key: ["id"],
  },
  transaction: {
    table: "transactions",
    columns: ({ id, planId, phase, startedAt }) => ({ id, plan_id: planId, phase, started_at: startedAt }),
    facts: ({ direction, undoRecord, finishedAt, owner }) => ({
      direction,
      undo_record: undoRecord,
      finished_at: finishedAt,
      host: columnText(owner.host),
    }),
    key: ["id"],
  },
  // A repeated creation replaces the intent for the same place, so that the intent names the new owner.
  intent: {
    table: "intents",
    columns: ({ sandboxId, kind, location }) => ({ sandbox_id: sandboxId, kind, location }),
    facts: ({ owner }) => ({ host: columnText(owner.host) }),
    key: ["sandbox_id", "kind", "location"],
  },
  history: {
    table: "history",
    columns: ({ planId }) => ({ plan_id: planId }),
    facts: ({ at, event }) => ({ at: columnText(at), event: columnText(event) }),
    key: [],
  },
  checkpoint: {
    table: "checkpoints",
    columns: ({ id, planId, state }) => ({ id, plan_id: planId, state }),
    key: ["id"],
  },
};

/** The statements that make this change. `withFacts` says that the database has columns for facts. */
export function statementsFor(change: StoreChange, withFacts = false): readonly BoundStatement[] {
  if ("put" in change) return [put(TABLES[change.put] as Table<Put["record"]>, change.record, withFacts)];
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

function put<Record extends object>(
  { table, columns, facts, key }: Table<Record>,
  record: Record,
  withFacts: boolean,
): BoundStatement {
  const inColumns = Object.entries(columns(record));
  const inFacts = withFacts ? Object.entries(facts?.(record) ?? {}) : [];
  const entries: (readonly [string, string | undefined])[] = [
    ...inColumns.map(([name, value]) => [name, columnText(value)] as const),
    ...inFacts,
    ["record", JSON.stringify(record)],
  ];
  const names = entries.map(([name]) => name);
  const marks = entries.map(([, value]) => (value === undefined ? "NULL" : "?"));
  const insert = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks.join(", ")})`;
  const others = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  return {
    sql:
      key.length === 0
        ? insert
        : `${insert} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${others.join(", ")}`,
    values: entries.flatMap(([, value]) => (value === undefined ? [] : [value])),
  };
}

/** JSON, as SQLite has it in the record: it tells all folders apart, whatever bytes are in their names. */
function workspaceOf(folder: unknown): string | undefined {
  return typeof folder === "string" ? JSON.stringify(folder) : undefined;
}
