import type { CheckpointRecord } from "../core/checkpoint.ts";
import type { Owner } from "../core/owner.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { PlainData } from "../core/resource/resource.ts";
import type { SandboxRecord } from "../core/sandbox.ts";
import type { TransactionRecord } from "../core/transaction.ts";

/**
 * Drydock's durable state behind one interface: plans, sandboxes, the journal, intents, claims and history.
 *
 * Reads see the last write of any process. Writes are lists of records that become visible together or not at
 * all. The caller says which owners are alive, so the store depends on no machine.
 */
export interface Store {
  plan(id: string): Promise<PlanRecord | undefined>;
  /** Plans whose id is or begins with `key`, or whose name is `key`; newest first. */
  findPlans(key: string): Promise<readonly PlanRecord[]>;
  /**
   * All plans, or only those that are not over (neither applied, undone, cancelled nor abandoned); newest
   * first. A page costs the same, however many plans there are.
   */
  listPlans(which: "all" | "open", page?: PlanPage): Promise<readonly PlanRecord[]>;
  /** Those of these plans that are not over. */
  openPlansAmong(ids: readonly string[]): Promise<readonly string[]>;
  /**
   * The ids of plans that are over, to which nothing has happened since this time, and that nothing needs any
   * more: no undo record, live sandbox, place in the world or unfinished transaction. Oldest first.
   */
  closedPlanIds(before: string, most: number): Promise<readonly string[]>;
  /**
   * The ids of plans with a landing that was not undone, the latest landing first. They are read as far as
   * the caller goes.
   */
  landedPlanIds(): AsyncIterable<string>;
  /**
   * Plans that are being made, extended, restored or closed, or that have a PENDING sandbox or a checkpoint
   * that is not `saved`; oldest first.
   */
  unfinishedPlans(): Promise<readonly PlanRecord[]>;

  sandbox(sandboxId: string): Promise<SandboxRecord | undefined>;
  sandboxesOf(planId: string): Promise<readonly SandboxRecord[]>;
  /** Sandboxes of every plan that are not CLEANED_UP. */
  liveSandboxes(): Promise<readonly SandboxRecord[]>;
  /** Live sandboxes whose workspace is not below this folder. Cheap, however many others there are. */
  sandboxesOutside(folder: string): Promise<readonly SandboxRecord[]>;

  transaction(id: string): Promise<TransactionRecord | undefined>;
  transactionsOf(planId: string): Promise<readonly TransactionRecord[]>;
  /** Transactions that are neither `done` nor `aborted`; oldest first. */
  unfinishedTransactions(): Promise<readonly TransactionRecord[]>;
  /**
   * Landed commits with an undo record that finished before this time, or whose undo record is being removed.
   */
  undoRecords(finishedBefore: string): Promise<readonly TransactionRecord[]>;
  /**
   * Whether a start has work: unfinished transactions, PENDING sandboxes, plans that are being made,
   * extended, restored or closed, checkpoints that are not `saved`. Cheap.
   */
  hasUnfinishedWork(): Promise<boolean>;

  /** All checkpoints of a plan in any state; oldest first. */
  checkpointsOf(planId: string): Promise<readonly CheckpointRecord[]>;

  intents(): Promise<readonly IntentRecord[]>;
  history(planId: string): Promise<readonly HistoryEntry[]>;
  /** The last entry of a plan's history that tells one of these events. */
  lastEntry(planId: string, events: readonly string[]): Promise<NumberedEntry | undefined>;
  /** The history of all plans, or of one, behind a place in it: the oldest entries first, at most `limit`. */
  historyAfter(
    seq: number,
    options: { readonly planId?: string | undefined; readonly limit: number },
  ): Promise<readonly NumberedEntry[]>;
  /** The entry at a place of the history of all plans. */
  historyAt(seq: number): Promise<NumberedEntry | undefined>;
  /** The last place that was given in that history; 0 if none was. Its entry may be gone with its plan. */
  historyEnd(): Promise<number>;

  /** Writes all changes, or none. */
  write(changes: readonly StoreChange[], durability: Durability): Promise<void>;

  /**
   * Claims every key for this owner, or none. A key that begins with `path:` excludes claims on paths that
   * contain it or lie below it; any other key excludes only itself. With `shared:` before a key, owners that
   * share it do not exclude each other. Drops the claims of dead owners. An owner may claim again what it
   * holds.
   */
  claim(keys: readonly string[], owner: Owner, isAlive: (owner: Owner) => boolean): Promise<ClaimResult>;
  release(keys: readonly string[], owner: Owner): Promise<void>;

  close(): void;
}

/**
 * - `durable`: on disk, with everything written before it, when the promise settles.
 * - `ordered`: visible to every process at once, and safe from kill -9. A power cut may lose it, but then
 *   also everything written after it.
 */
export type Durability = "durable" | "ordered";

/** Some of the plans of a list. */
export interface PlanPage {
  readonly limit: number;
  /** Only those that the list has behind this one. */
  readonly behind?: PlanRecord | undefined;
}

export type StoreChange =
  | { readonly put: "plan"; readonly record: PlanRecord }
  | { readonly put: "sandbox"; readonly record: SandboxRecord }
  | { readonly put: "transaction"; readonly record: TransactionRecord }
  | { readonly put: "intent"; readonly record: IntentRecord }
  | { readonly put: "history"; readonly record: HistoryEntry }
  | { readonly put: "checkpoint"; readonly record: CheckpointRecord }
  | { readonly drop: "intents"; readonly sandboxId: string }
  | { readonly drop: "sandbox"; readonly sandboxId: string }
  /** With its sandboxes, transactions, checkpoints and history. */
  | { readonly drop: "plan"; readonly planId: string }
  | { readonly drop: "checkpoint"; readonly id: string };

/** A place in the world that a sandbox has, or was about to have. */
export interface IntentRecord {
  readonly sandboxId: string;
  readonly planId: string;
  readonly kind: string;
  readonly location: string;
  readonly recordedAt: string;
  /**
   * The process that makes it. If that process is dead and the sandbox still PENDING, the creation was cut
   * off.
   */
  readonly owner: Owner;
}

/** One step in the life of a plan. */
export interface HistoryEntry {
  readonly planId: string;
  /** UTC, ISO 8601. */
  readonly at: string;
  readonly actor: string;
  /** The process that did it. */
  readonly pid?: number;
  readonly event: string;
  readonly details: { readonly [key: string]: PlainData };
}

/** An entry at its place in the history of all plans. */
export interface NumberedEntry {
  readonly seq: number;
  readonly entry: HistoryEntry;
}

export type ClaimResult =
  | { readonly granted: true }
  | { readonly granted: false; readonly key: string; readonly holder: Owner };
