import { DrydockError, messageOf } from "../../core/errors/errors.ts";
import { type PlainError, plainError } from "../../core/errors/revive-error.ts";
import type { TransactionPolicy } from "../../core/strategy-policies.ts";
import type { ChangedRows, RowRange } from "../../core/values/changed-rows.ts";
import { decodeMarked, encodeMarked } from "../../core/values/marked-json.ts";
import type { StatementResult } from "../../core/values/query.ts";
import type {
  Evidence,
  Outcome,
  ServerSession,
  TransactionName,
} from "../../database/server/server-database.ts";
import type { StatementEffect } from "../../database/server/statement-effect.ts";

/**
 * # The protocol between a client and the process that holds a plan's transactions
 *
 * Each connection to the holder's socket carries one request and one answer, each a line of JSON, the request
 * with the holder's key before it. A request
 * names a sandbox and an operation; an answer is `{ "done": … }` or `{ "failed": { … } }`. The holder does
 * requests about one sandbox one after the other, in the order in which they came; only `cancel` does not
 * wait. A client keeps its side of the connection open until it has the answer. If that side ends earlier,
 * the client is dead, and the holder cancels the statements that it asked for.
 *
 * The holder gets `HolderStart` on its standard input, which is the only way that a password reaches it, and
 * says `ready` on its standard output when it listens. It records only where it listens, and why it ended a
 * transaction by itself. The client records whatever must be known after the holder's death, before it asks.
 */
export interface HolderStart {
  /** The plan's folder, see holder-folder.ts. */
  readonly folder: string;
  readonly holderId: string;
  /** By id of the resource. */
  readonly secrets: { readonly [resourceId: string]: string };
  readonly limits: TransactionPolicy;
  /** The server that the first request will ask for, so that connecting begins at once. */
  readonly connects?: { readonly planId: string; readonly resourceId: string; readonly location: string };
}

/** The holder's operations: what each is given, and what it answers. */
export interface HolderOperations {
  /** Connects, unless it is connected. Begins no transaction. */
  connect: { readonly asks: { readonly location: string }; readonly answers: Connected };
  /** Begins the transaction. The work of an earlier one is gone. */
  begin: { readonly asks: { readonly name: TransactionName }; readonly answers: null };
  /** Begins a transaction and runs everything that the last one ran; says why the results differ. */
  replay: {
    readonly asks: { readonly name: TransactionName };
    readonly answers: { readonly name?: TransactionName; readonly differs?: string };
  };
  run: {
    readonly asks: { readonly script: string; readonly readOnly: boolean };
    readonly answers: readonly StatementResult[];
  };
  /** Ends the running statements, out of turn: their client learns that they were interrupted. */
  cancel: { readonly asks: object; readonly answers: null };
  table: { readonly asks: { readonly table: string }; readonly answers: StatementResult };
  /** The rows that the transaction changed in a table. */
  rows: {
    readonly asks: { readonly table: string; readonly range: RowRange };
    readonly answers: ChangedRows;
  };
  /** The statements in effect; those before a checkpoint, if one is named. */
  log: {
    readonly asks: { readonly checkpointId?: string };
    readonly answers: readonly LoggedStatement[];
  };
  checkpoint: { readonly asks: { readonly checkpointId: string }; readonly answers: null };
  restore: { readonly asks: { readonly checkpointId: string }; readonly answers: null };
  makeMarker: { readonly asks: object; readonly answers: { readonly marker?: string } };
  /** Checks what `prepare` would refuse, as far as that shows before; the transaction stays open. */
  check: { readonly asks: object; readonly answers: null };
  prepare: { readonly asks: { readonly marker?: string }; readonly answers: Evidence };
  commit: { readonly asks: object; readonly answers: null };
  /** Ends the session, and with it a transaction that is not prepared. */
  disconnect: { readonly asks: object; readonly answers: null };
  /** Whether the holder has the work: in a transaction, or as the steps of a prepared one. */
  holds: { readonly asks: object; readonly answers: boolean };
  /** How long its transaction lasts. */
  status: { readonly asks: object; readonly answers: TransactionStatus };
  /** Commits the prepared transaction; says how it ended. */
  land: {
    readonly asks: ResolveRequest & { readonly name: TransactionName; readonly evidence: Evidence };
    readonly answers: Outcome;
  };
  /** Rolls back every prepared transaction of the sandbox; says how the named one ended. */
  takeBack: {
    readonly asks: ResolveRequest & { readonly name?: TransactionName; readonly evidence: Evidence };
    readonly answers: { readonly outcome: Outcome | "never prepared" };
  };
  /** Removes a marker. */
  forget: { readonly asks: { readonly location: string; readonly marker: string }; readonly answers: null };
  /** Ends the holder, if it holds no other sandbox. */
  end: { readonly asks: object; readonly answers: { readonly ends: boolean } };
}

/** What ending a prepared transaction needs. */
export interface ResolveRequest {
  readonly location: string;
  /** The session that prepared the transaction, or was about to. */
  readonly session?: ServerSession;
}

export interface Connected {
  readonly product: string;
  readonly session: ServerSession;
  readonly whyNoPrepare?: string;
}

/** Where clients of the server's own protocol come in: a socket with the name that they look for. */
export interface ClientPlace {
  readonly folder: string;
  readonly port: number;
  /** The password of clients. */
  readonly key: string;
}

export interface TransactionStatus {
  /** Absent where Drydock does not speak the protocol of the server. */
  readonly clients?: ClientPlace;
  readonly beganAt: string;
  /** The time when it ends if no client uses it before. */
  readonly idleEnd: string;
  /** The time when it ends in any case. */
  readonly end: string;
}

/** A statement of a held transaction that is still in effect. */
export interface LoggedStatement {
  readonly sql: string;
  readonly effect: StatementEffect;
  readonly rows: number;
  /** The digest of the whole result. */
  readonly digest: string;
}

export type HolderOperation = keyof HolderOperations;

export interface HolderRequest {
  readonly planId: string;
  readonly resourceId: string;
  readonly operation: HolderOperation;
  readonly given: object;
}

export type HolderAnswer = { readonly done: unknown } | { readonly failed: PlainError };

/** The code of the error by which the holder says that it holds nothing of a sandbox. */
export const NOT_HELD = "NOT_HELD";

export function encodeMessage(message: HolderRequest | HolderAnswer): string {
  return `${encodeMarked(message)}\n`;
}

export function decodeMessage<T extends HolderRequest | HolderAnswer>(line: string): T {
  return decodeMarked(line) as T;
}

/** An error of the holder, as an answer. */
export function failureOf(thrown: unknown): PlainError {
  if (thrown instanceof DrydockError) return plainError(thrown);
  return { name: "Error", code: "DEFECT", message: messageOf(thrown) };
}
