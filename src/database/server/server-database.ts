import type { StatementResult } from "../../core/values/query.ts";
import type { DatabaseConnection } from "../common/database-connection.ts";
import type { StatementEffect } from "./statement-effect.ts";

/**
 * # A connection to a database server that holds one transaction
 *
 * After `begin` every statement is in that transaction, until `prepare`, `commit` or `rollback` ends it. The
 * caller chooses its name before it begins, and `prepare` leaves it under that name: any connection can then
 * end it, after the death of this one or of the server.
 *
 * No statement ends the transaction: one that would is refused before it is sent. If a server ends it all the
 * same, the state that it reports tells, and that is an error.
 */
export interface ServerDatabase extends DatabaseConnection {
  /** What it is, for people: "PostgreSQL 15.3". */
  readonly product: string;
  readonly session: ServerSession;
  /** Whether the connection is there. */
  readonly isOpen: boolean;
  /** Whether the transaction is there; a failure may have ended it. */
  readonly isInTransaction: boolean;
  /**
   * Why transactions can't be prepared here, so that a commit can only be made in one step; undefined if they
   * can.
   */
  readonly whyNoPrepare: string | undefined;

  begin(name: TransactionName): Promise<void>;
  /**
   * The script is one: if a statement fails, nothing of the script is left. With `readOnly` none may change
   * anything.
   */
  run(script: string, options?: { readonly readOnly?: boolean }): Promise<readonly ServerStatement[]>;
  /** Ends what `run` is doing, if anything: it then fails with an InterruptedError. */
  cancel(): Promise<void>;
  /** All rows of a table. */
  table(name: string): Promise<StatementResult>;
  savepoint(number: number): Promise<void>;
  /** The savepoint stays, those after it are gone. */
  rollbackTo(number: number): Promise<void>;
  rollback(): Promise<void>;
  commit(): Promise<void>;

  /**
   * Makes sure that it can be asked later whether a transaction was committed, where the server does not know
   * that by itself. Says where it made something for that, which `forget` removes; undefined if nothing is
   * needed or allowed. Not in the transaction.
   */
  makeMarker(name: TransactionName): Promise<string | undefined>;
  /** Ends the first phase. What it returns tells later what became of the transaction. */
  prepare(marker: string | undefined): Promise<Evidence>;

  /**
   * A resolver on this connection, which has no transaction: it becomes like a new one first. Absent where a
   * connection can't end a transaction that it has prepared itself.
   */
  resolver?(): Promise<TransactionResolver>;

  close(): Promise<void>;
  /** Called once if the connection is lost. */
  onLost: (why: string) => void;
}

/** Finds and ends prepared transactions, on a connection that has no transaction. */
export interface TransactionResolver {
  /** The prepared transactions of a sandbox. */
  prepared(of: Pick<TransactionName, "planId" | "resourceId">): Promise<readonly TransactionName[]>;
  outcome(name: TransactionName, evidence: Evidence): Promise<Outcome>;
  /** Commits or rolls back one that is prepared. Fails if it is no longer. */
  finish(name: TransactionName, how: "commit" | "rollback"): Promise<void>;
  /**
   * Waits until a session has ended, and ends it if it does not by itself: what it was about to do is done or
   * will never be.
   */
  endSession(session: ServerSession): Promise<void>;
  /** Removes what `makeMarker` made. */
  forget(marker: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The name of a transaction. It tells whose it is to whoever finds it on the server; `serial` tells the
 * transactions of one sandbox apart.
 */
export interface TransactionName {
  readonly planId: string;
  readonly resourceId: string;
  readonly serial: string;
}

/** A session of a server, so that another one is not taken for it. */
export interface ServerSession {
  readonly id: number;
  readonly startedAt: string;
}

/** What tells the outcome of a prepared transaction that is no longer prepared. Plain data. */
export interface Evidence {
  /** The number of the transaction on a PostgreSQL server. */
  readonly transactionNumber?: string;
  /** Where a row is if and only if it was committed. */
  readonly marker?: string;
}

/** `unknown`: it is no longer prepared, and the server can't tell whether it was committed. */
export type Outcome = "prepared" | "committed" | "rolled back" | "unknown";

/** A statement that was run, with what it gave. */
export interface ServerStatement extends StatementResult {
  readonly sql: string;
  readonly effect: StatementEffect;
}

/** What a driver needs to connect. */
export interface ServerLogin {
  readonly location: string;
  readonly secret: string | undefined;
  /** How long to wait for a connection, and for locks of others. */
  readonly patienceMs: number;
}

/** `drydock-PLAN-RESOURCE-SERIAL`; ids are ULIDs, so it is unambiguous. */
export function nameText({ planId, resourceId, serial }: TransactionName): string {
  return `drydock-${planId}-${resourceId}-${serial}`;
}

/** The name that a text is; undefined if it is none of ours. */
export function nameFrom(text: string): TransactionName | undefined {
  const { planId, resourceId, serial } =
    /^drydock-(?<planId>\w+)-(?<resourceId>\w+)-(?<serial>\w+)$/.exec(text)?.groups ?? {};
  if (planId === undefined || resourceId === undefined || serial === undefined) return undefined;
  return { planId, resourceId, serial };
}
