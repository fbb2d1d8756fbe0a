import type { Loss } from "../core/capabilities.ts";
import type { Change, ChangeKind, DiffView } from "../core/change.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import {
  type CommitResult,
  isTwoPhase,
  type PreparedCommit,
  type SandboxStrategy,
  type Transaction,
  type TwoPhaseSandboxStrategy,
} from "../core/strategy.ts";
import { ConformanceFailure, expect, expectNone } from "./expectation.ts";
import { compareSnapshots, snapshotTree, type TreeSnapshot } from "./tree/tree-snapshot.ts";
import type { Steps } from "./tree/work-tree.ts";

/** The part of the bench that its sandboxes need. */
export interface SandboxHost {
  readonly oraclePath: string;
  readonly losses: readonly Loss[];
  readonly kind: ChangeKind;
  fresh(): SandboxStrategy;
  isLeftOut(name: string): boolean;
  inFolders(paths: readonly string[], steps: Steps): void;
}

/**
 * A sandbox on a bench. Each call goes to a new instance of the strategy, with a ref that has been through
 * JSON.
 */
export class SandboxBench {
  readonly #bench: SandboxHost;
  readonly #ref: string;

  constructor(bench: SandboxHost, ref: SandboxRef) {
    this.#bench = bench;
    this.#ref = JSON.stringify(ref);
  }

  get ref(): SandboxRef {
    return JSON.parse(this.#ref) as SandboxRef;
  }

  async read(path: string): Promise<string> {
    return Buffer.from(await this.#bench.fresh().read(this.ref, path)).toString();
  }

  async write(path: string, text: string): Promise<Change> {
    return await this.#bench.fresh().write(this.ref, path, Buffer.from(text));
  }

  async diff(): Promise<DiffView> {
    return await this.#bench.fresh().diff(this.ref);
  }

  /**
   * The changes as lines to compare: "modified file src/app.ts". An entry of an original that is not a folder
   * counts as a file.
   */
  async changes(): Promise<string[]> {
    return this.#lines((await this.diff()).changes);
  }

  /** The changes that a checkpoint holds, in the same form; undefined if the strategy does not tell them. */
  async savedChanges(checkpointId: string): Promise<string[] | undefined> {
    const changes = await this.#bench.fresh().saved?.(this.ref, checkpointId);
    return changes && this.#lines(changes);
  }

  #lines(changes: readonly Change[]): string[] {
    const shown = (kind: ChangeKind) => (kind === this.#bench.kind ? "file" : kind);
    return changes.map(({ operation, kind, path }) => `${operation} ${shown(kind)} ${path}`).sort();
  }

  async commit(): Promise<CommitResult> {
    return await this.#bench.fresh().commit(this.ref);
  }

  async rollback(): Promise<void> {
    await this.#bench.fresh().rollback(this.ref);
  }

  async checkpoint(id: string): Promise<void> {
    await this.#bench.fresh().checkpoint(this.ref, id);
  }

  async restoreCheckpoint(id: string): Promise<void> {
    await this.#bench.fresh().restoreCheckpoint(this.ref, id);
  }

  async cleanup(): Promise<void> {
    await this.#bench.fresh().cleanup(this.ref);
  }

  async prepare(transaction: Transaction): Promise<PreparedCommit | null> {
    const prepared = await this.#twoPhase().prepare(this.ref, transaction);
    // Another process reads the prepared commit, so it has to survive JSON.
    return JSON.parse(JSON.stringify(prepared)) as PreparedCommit | null;
  }

  /** Prepares, and fails if there is nothing to land. */
  async prepareChanges(transaction: Transaction): Promise<PreparedCommit> {
    const prepared = await this.prepare(transaction);
    expect(prepared !== null, "prepare returns null although there is something to land");
    return prepared;
  }

  async commitPrepared(transaction: Transaction, prepared: PreparedCommit): Promise<CommitResult> {
    return await this.#twoPhase().commitPrepared(this.ref, transaction, prepared);
  }

  async rollbackPrepared(transaction: Transaction, prepared?: PreparedCommit): Promise<void> {
    await this.#twoPhase().rollbackPrepared(this.ref, transaction, prepared);
  }

  /** The transaction by which this sandbox's plan commits, or undoes a commit. */
  transaction(id: string, undoes?: Transaction["undoes"]): Transaction {
    const direction = undoes === undefined ? "commit" : "undo";
    return { id, planId: this.ref.planId, direction, ...(undoes !== undefined && { undoes }) };
  }

  /** The transaction that lands a part of the work. */
  part(id: string, only: readonly string[]): Transaction {
    return { ...this.transaction(id), only };
  }

  /** Prepares and lands; returns the transaction that would undo it. */
  async land(transaction: Transaction): Promise<Transaction> {
    const prepared = await this.prepareChanges(transaction);
    await this.commitPrepared(transaction, prepared);
    return this.transaction(`undo-${transaction.id}`, { id: transaction.id, prepared });
  }

  /** The folder in which programs work. */
  async path(): Promise<string> {
    const path = await this.#bench.fresh().path?.(this.ref);
    if (path === undefined) throw new ConformanceFailure("the strategy has no path()");
    return path;
  }

  /** Works in the sandbox as a program would, and in the oracle. */
  async work(steps: Steps): Promise<void> {
    this.#bench.inFolders([await this.path(), this.#bench.oraclePath], steps);
  }

  /** Works in the sandbox only. */
  async workAlone(steps: Steps): Promise<void> {
    this.#bench.inFolders([await this.path()], steps);
  }

  async snapshot(): Promise<TreeSnapshot> {
    return snapshotTree(await this.path(), (name) => this.#bench.isLeftOut(name));
  }

  /**
   * Fails unless the sandbox equals the snapshot in every attribute that the strategy does not declare to
   * lose.
   */
  async expectIs(expected: TreeSnapshot, what: string): Promise<void> {
    expectNone(compareSnapshots(await this.snapshot(), expected, this.#bench.losses), what);
  }

  #twoPhase(): TwoPhaseSandboxStrategy {
    const strategy = this.#bench.fresh();
    if (isTwoPhase(strategy)) return strategy;
    throw new ConformanceFailure("the strategy is not two-phase");
  }
}
