import { isUnfinished, type TransactionRecord } from "../../core/transaction.ts";
import type { Driver } from "./call.ts";

/**
 * What the database of a fleet holds of a transaction, and the only ways to change it. Each function here is
 * one statement of the database: it happens as a whole or not at all, and statements on the same transaction
 * happen one after the other. Their SQL has to do exactly this.
 *
 * - The record is replaced by compare-and-set. A coordinator that was replaced can't put `preparing` over
 *   `done`.
 * - The decision is a row of its own that is written once. Everybody acts on what it says, not on what they
 *   wanted to write. Where it and the record differ, it is right.
 * - Giving up a landing that can't finish is a second row. It can be written only while the record says
 *   `landing`, and once it is there the landing can't finish.
 */
export interface TransactionRow {
  readonly record: TransactionRecord;
  /** Raised by every save. */
  readonly version: number;
  readonly driver: Driver;
  readonly decision?: Decision;
  readonly givenUp?: true;
}

export type Decision = "land" | "give-up";

/** First writer wins. The caller reads what it says now. */
export function decide(row: TransactionRow, decision: Decision): TransactionRow {
  return row.decision === undefined ? { ...row, decision } : row;
}

/** The word of a person that a landing which can't finish is taken back. Unchanged: it is refused. */
export function giveUp(row: TransactionRow): TransactionRow {
  const { phase, direction } = row.record;
  return phase === "landing" && direction === "commit" ? { ...row, givenUp: true } : row;
}

/** What a coordinator saves: the record that follows from this version. */
export interface Save {
  readonly record: TransactionRecord;
  readonly version: number;
}

export type SaveResult =
  | { readonly was: "saved"; readonly row: TransactionRow }
  /** Somebody else has saved meanwhile. */
  | { readonly was: "conflict" }
  /** It may not finish: it was given up. */
  | { readonly was: "given-up" };

export function save(row: TransactionRow, { record, version }: Save): SaveResult {
  if (row.version !== version) return { was: "conflict" };
  if (record.phase === "landed" && row.givenUp === true) return { was: "given-up" };
  return { was: "saved", row: { ...row, record, version: version + 1 } };
}

/**
 * Makes this process the one that drives the transaction. `mayTake` says what the database knows of the
 * driver so far: its lease is gone. Where only a person can go on, nobody drives it.
 */
export function takeOver(row: TransactionRow, driver: Driver, mayTake: boolean): TransactionRow {
  if (!isUnfinished(row.record) || !(mayTake || row.record.phase === "in-doubt")) return row;
  return { ...row, driver, version: row.version + 1 };
}

/** May its claims go, and one day its rows? Until every host has ended it, the record is unfinished. */
export function isOver(row: TransactionRow | undefined): boolean {
  return row === undefined || !isUnfinished(row.record);
}

/** Whether everything that was done for it is to be taken back. */
export function isGivenUp({ decision, givenUp }: Pick<TransactionRow, "decision" | "givenUp">): boolean {
  return decision === "give-up" || givenUp === true;
}

export function isSameDriver(one: Driver, other: Driver): boolean {
  return one.host === other.host && one.epoch === other.epoch && one.process === other.process;
}
