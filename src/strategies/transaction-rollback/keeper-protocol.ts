import { DrydockError, messageOf } from "../../core/errors.ts";
import type { DatabaseValue, StatementResult } from "../../core/query.ts";
import { type PlainError, plainError } from "../../core/revive-error.ts";
import type { TransactionPolicy } from "../../core/strategy-policies.ts";
import type { Evidence, Outcome, ServerSession, TransactionName } from "../../database/server-database.ts";
import type { StatementEffect } from "../../database/statement-effect.ts";

/**
 * # How the keeper of a plan is spoken to
 *
 * Each connection to its socket carries one request and one answer, each a line of JSON. A request names a sandbox and an operation; an
 * answer is `{ "done": … }` or `{ "failed": { … } }`. Requests about one sandbox are done one after the other, in the order in which they came;
 * only `cancel` does not wait. Who asks keeps his side of the connection open until he is answered: if it ends before, he is dead, and the statements
 * that he asked for are cancelled.
 *
 * The keeper is started with `KeeperStart` on its standard input, which is the only way that a password gets to it, and says `ready` on its
 * standard output when it listens. It keeps no record of its own but where it listens, and why it ended a transaction by itself: what must be known
 * after its death is written by who asks it, before he asks.
 */
export interface KeeperStart {
  /** The plan's folder, see keeper-folder.ts. */
  readonly folder: string;
  readonly keeperId: string;
  /** By resource. */
  readonly secrets: { readonly [resourceId: string]: string };
  readonly limits: TransactionPolicy;
  /** What it will be asked to connect to at once. */
  readonly connects?: { readonly planId: string; readonly resourceId: string; readonly location: string };
}

/** What the keeper does, by name: what it is given, and what it answers. */
export interface KeeperOperations {
  /** Connects, if it is not connected yet. No transaction is begun. */
  connect: { readonly asks: { readonly location: string }; readonly answers: Connected };
  /** Begins the transaction. What an earlier one did is gone. */
  begin: { readonly asks: { readonly name: TransactionName }; readonly answers: null };
  /** Begins a new transaction and runs everything in it that was run in the last one; says why that did not give the same. */
  replay: {
    readonly asks: { readonly name: TransactionName };
    readonly answers: { readonly name?: TransactionName; readonly differs?: string };
  };
  run: {
    readonly asks: { readonly script: string; readonly readOnly: boolean };
    readonly answers: readonly StatementResult[];
  };
  /** Ends the statements that are running, out of turn: who asked for them is told that they were interrupted. */
  cancel: { readonly asks: object; readonly answers: null };
  table: { readonly asks: { readonly table: string }; readonly answers: StatementResult };
  log: { readonly asks: object; readonly answers: readonly LoggedStatement[] };
  checkpoint: { readonly asks: { readonly checkpointId: string }; readonly answers: null };
  restore: { readonly asks: { readonly checkpointId: string }; readonly answers: null };
  makeMarker: { readonly asks: object; readonly answers: { readonly marker?: string } };
  prepare: { readonly asks: { readonly marker?: string }; readonly answers: Evidence };
  commit: { readonly asks: object; readonly answers: null };
  /** Ends the session, and with it a transaction that is not prepared. */
  disconnect: { readonly asks: object; readonly answers: null };
  /** Whether it has the work: in a transaction, or as what was done in one that was prepared. */
  holds: { readonly asks: object; readonly answers: boolean };
  /** How long its transaction lasts. */
  status: { readonly asks: object; readonly answers: HeldStatus };
  /** Commits what is prepared; says what became of it. */
  land: {
    readonly asks: Settling & { readonly name: TransactionName; readonly evidence: Evidence };
    readonly answers: Outcome;
  };
  /** Rolls back whatever is prepared of the sandbox; says what became of the named one. */
  takeBack: {
    readonly asks: Settling & { readonly name?: TransactionName; readonly evidence: Evidence };
    readonly answers: { readonly outcome: Outcome | "never prepared" };
  };
  /** Removes a marker. */
  forget: { readonly asks: { readonly location: string; readonly marker: string }; readonly answers: null };
  /** Ends the keeper, if it holds no other sandbox. */
  end: { readonly asks: object; readonly answers: { readonly ends: boolean } };
}

/** What settling a prepared transaction needs. */
export interface Settling {
  readonly location: string;
  /** The session that prepared it, or was about to. */
  readonly session?: ServerSession;
}

export interface Connected {
  readonly product: string;
  readonly session: ServerSession;
  readonly whyNoPrepare?: string;
}

export interface HeldStatus {
  readonly beganAt: string;
  /** When it is ended if nobody uses it before. */
  readonly idleEnd: string;
  /** When it is ended in any case. */
  readonly end: string;
}

/** A statement of a held transaction that is still in effect. */
export interface LoggedStatement {
  readonly sql: string;
  readonly effect: StatementEffect;
  readonly rows: number;
  /** Over everything that it gave. */
  readonly digest: string;
}

export type KeeperOperation = keyof KeeperOperations;

export interface KeeperRequest {
  readonly planId: string;
  readonly resourceId: string;
  readonly operation: KeeperOperation;
  readonly given: object;
}

export type KeeperAnswer = { readonly done: unknown } | { readonly failed: PlainError };

/** The code of the error by which the keeper says that it holds nothing of a sandbox. */
export const NOT_HELD = "NOT_HELD";

/** One line. Large integers and bytes, which JSON does not have, are marked. */
export function encodeMessage(message: KeeperRequest | KeeperAnswer): string {
  return `${JSON.stringify(message, (_key, value: unknown) => {
    if (typeof value === "bigint") return { "~int": value.toString() };
    return isBytes(value) ? { "~bytes": Buffer.from(bytesOf(value)).toString("base64") } : value;
  })}\n`;
}

export function decodeMessage<T extends KeeperRequest | KeeperAnswer>(line: string): T {
  return JSON.parse(line, (_key, value: unknown) => marked(value)) as T;
}

/** A Buffer has turned itself into an object before it gets here. */
function isBytes(value: unknown): value is Uint8Array | { readonly data: readonly number[] } {
  if (value instanceof Uint8Array) return true;
  const plain = value as { readonly type?: unknown; readonly data?: unknown } | null;
  return typeof value === "object" && plain?.type === "Buffer" && Array.isArray(plain.data);
}

function bytesOf(value: Uint8Array | { readonly data: readonly number[] }): Uint8Array {
  return value instanceof Uint8Array ? value : Uint8Array.from(value.data);
}

function marked(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Object.keys(value).length !== 1) return value;
  const { "~int": int, "~bytes": bytes } = value as { readonly [mark: string]: unknown };
  if (typeof int === "string") return BigInt(int) satisfies DatabaseValue;
  return typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : value;
}

/** What went wrong in the keeper, on its way out of it. */
export function failureOf(thrown: unknown): PlainError {
  if (thrown instanceof DrydockError) return plainError(thrown);
  return { name: "Error", code: "DEFECT", message: messageOf(thrown) };
}
