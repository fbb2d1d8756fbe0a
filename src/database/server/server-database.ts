import type { ChangedRows, RowRange } from "../../core/values/changed-rows.ts";
import type { StatementResult } from "../../core/values/query.ts";
import type { DatabaseConnection } from "../common/database-connection.ts";
import type { ClientDoor, ClientDoorParts, ClientUnit } from "./client-unit.ts";
import type { StatementEffect } from "./statement-effect.ts";

/**
 * # A connection to a database server that holds one transaction
 *
 * After `begin`, every statement is in that transaction, until `prepare`, `commit` or `rollback` ends it. The
 * caller chooses the name of the transaction before it begins. `prepare` leaves the transaction on the server
 * under that name: any connection can end it then, also after the death of this one or a restart of the
 * server.
 *
 * No statement ends the transaction: a statement that would is refused before it is sent. If the server ends
 * it all the same, the state that the server reports shows it, and that is an error.
 */
export interface ServerDatabase extends DatabaseConnection {
  /** The product, for people: "PostgreSQL 15.3". */
  readonly product: string;
  readonly session: ServerSession;
  /** Whether the connection is open. */
  readonly isOpen: boolean;
  /** Whether the transaction is open; a failure may have ended it. */
  readonly isInTransaction: boolean;
  /**
   * The reason why the server can't prepare transactions, so that a commit is possible only in one step;
   * undefined if it can.
   */
  readonly whyNoPrepare: string | undefined;

  begin(name: TransactionName): Promise<void>;
  /**
   * Runs a script as one unit: if a statement fails, nothing of the script remains. With `readOnly`, no
   * statement may change anything.
   */
  run(script: string, options?: { readonly readOnly?: boolean }): Promise<readonly ServerStatement[]>;
  /** Ends the statements of `run`, if any are running: `run` fails with an InterruptedError. */
  cancel(): Promise<void>;
  /** All rows of a table. */
  table(name: string): Promise<StatementResult>;
  /**
   * The rows of a table that differ from those before the transaction. Absent where the server does not tell
   * which rows a transaction changed.
   */
  changedRows?(table: string, range: RowRange): Promise<ChangedRows>;
  /**
   * Lets clients of the server's own protocol into the transaction. Absent where Drydock does not speak it.
   */
  openDoor?(parts: ClientDoorParts): Promise<ClientDoor>;
  /** Does again what a client did in another transaction; returns why the results differ. */
  repeat?(unit: ClientUnit): Promise<string | undefined>;
  savepoint(number: number): Promise<void>;
  /** Keeps this savepoint and drops later ones. */
  rollbackTo(number: number): Promise<void>;
  rollback(): Promise<void>;
  commit(): Promise<void>;

  /**
   * Prepares a way to learn later whether a transaction was committed, on a server that does not remember it.
   * Returns the location of what it created for that, which `forget` removes; undefined if nothing is needed
   * or allowed. Runs outside of the transaction.
   */
  makeMarker(name: TransactionName): Promise<string | undefined>;
  /**
   * Checks what `prepare` would refuse, as far as that shows inside the transaction. The transaction goes on
   * as it was.
   */
  check(): Promise<void>;
  /** Ends the first phase. The evidence tells later how the transaction ended. */
  prepare(marker: string | undefined): Promise<Evidence>;

  /**
   * A resolver on this connection, which has no transaction any more; its session is reset first. Absent
   * where a connection can't end a transaction that it has prepared itself.
   */
  resolver?(): Promise<TransactionResolver>;

  close(): Promise<void>;
  /** Called once, if the connection is lost. */
  onLost: (why: string) => void;
}

/** Finds and ends prepared transactions, on a connection without a transaction. */
export interface TransactionResolver {
  /** The prepared transactions of a sandbox. */
  prepared(of: Pick<TransactionName, "planId" | "resourceId">): Promise<readonly TransactionName[]>;
  outcome(name: TransactionName, evidence: Evidence): Promise<Outcome>;
  /** Commits or rolls back a prepared transaction. Fails if it is not prepared any more. */
  finish(name: TransactionName, how: "commit" | "rollback"): Promise<void>;
  /**
   * Waits until a session has ended, and ends it if it does not end by itself. After that, its last statement
   * has taken effect or never will.
   */
  endSession(session: ServerSession): Promise<void>;
  /** Removes what `makeMarker` created. */
  forget(marker: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The name of a transaction. It says on the server to which sandbox the transaction belongs; `serial`
 * distinguishes the transactions of one sandbox.
 */
export interface TransactionName {
  readonly planId: string;
  readonly resourceId: string;
  readonly serial: string;
}

/** Identifies a session of a server, so that another one is not mistaken for it. */
export interface ServerSession {
  readonly id: number;
  readonly startedAt: string;
}

/** Evidence of the outcome of a transaction that is not prepared any more. Plain data. */
export interface Evidence {
  /** The number of the transaction on a PostgreSQL server. */
  readonly transactionNumber?: string;
  /** The location of a row that exists if and only if the transaction was committed. */
  readonly marker?: string;
}

/**
 * `unknown`: the transaction is not prepared any more, and the server can't tell whether it was committed.
 */
export type Outcome = "prepared" | "committed" | "rolled back" | "unknown";

/** A statement that was run, with its result. */
export interface ServerStatement extends StatementResult {
  readonly sql: string;
  readonly effect: StatementEffect;
}

/** What a driver needs for a connection. */
export interface ServerLogin {
  readonly location: string;
  readonly secret: string | undefined;
  /** How long to wait for a connection, and for locks of other sessions. */
  readonly patienceMs: number;
}

/** `drydock-PLAN-RESOURCE-SERIAL`; ids are ULIDs, so it is unambiguous. */
export function nameText({ planId, resourceId, serial }: TransactionName): string {
  return `drydock-${planId}-${resourceId}-${serial}`;
}

/** Parses the name of a transaction; undefined if it is none of ours. */
export function nameFrom(text: string): TransactionName | undefined {
  const { planId, resourceId, serial } =
    /^drydock-(?<planId>\w+)-(?<resourceId>\w+)-(?<serial>\w+)$/.exec(text)?.groups ?? {};
  if (planId === undefined || resourceId === undefined || serial === undefined) return undefined;
  return { planId, resourceId, serial };
}
