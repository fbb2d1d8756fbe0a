import type { DiffView } from "../core/change.ts";
import {
  DrydockError,
  messageOf,
  SandboxCommitError,
  SandboxCreationError,
  SandboxRollbackError,
  UnsupportedError,
  UsageError,
} from "../core/errors.ts";
import type { StatementResult } from "../core/query.ts";
import type { PlainData, Resource } from "../core/resource.ts";
import { assertResourcePath } from "../core/resource-path.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import {
  type Attention,
  type CommitResult,
  isTwoPhase,
  type LastCheckpoint,
  type PreparedCommit,
  type ProgramView,
  type SandboxStrategy,
  type SavedCheckpoint,
  type Transaction,
  type TwoPhaseSandboxStrategy,
} from "../core/strategy.ts";

/**
 * Stands between Drydock and a strategy, so that the rules hold whatever the strategy does: paths are checked, what is to be stored is plain data,
 * and what it throws becomes an error that names it. An error of ours passes as it is; nothing is wrapped twice.
 */
export class GuardedStrategy {
  readonly name: string;
  readonly #strategy: SandboxStrategy;

  constructor(strategy: SandboxStrategy) {
    this.#strategy = strategy;
    this.name = strategy.name;
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const ref = await this.#call("create", () => this.#strategy.create(planId, resource), SandboxCreationError);
    if (ref?.planId !== planId || ref.resourceId !== resource.id || typeof ref.sandboxId !== "string") {
      throw new SandboxCreationError(
        `The strategy ${this.name} did not return a reference to the sandbox it was asked for.`,
        { hint: BLAME },
      );
    }
    return plain(ref, this.name);
  }

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    const checked = assertResourcePath(path);
    return await this.#call("read", () => this.#strategy.read(ref, checked));
  }

  async readOriginal(ref: SandboxRef, path: string): Promise<Uint8Array | undefined> {
    const checked = assertResourcePath(path);
    return await this.#call("readOriginal", async () => this.#strategy.readOriginal?.(ref, checked));
  }

  async write(ref: SandboxRef, path: string, bytes: Uint8Array) {
    const checked = assertResourcePath(path);
    return await this.#call("write", () => this.#strategy.write(ref, checked, bytes));
  }

  async query(
    ref: SandboxRef,
    script: string,
    options: { readonly readOnly: boolean },
  ): Promise<readonly StatementResult[]> {
    return await this.#call("query", async () => {
      if (this.#strategy.query !== undefined) return await this.#strategy.query(ref, script, options);
      throw new UsageError("This resource takes no statements: it is no database.", {
        hint: "Use 'drydock plan read' and 'plan write'.",
        code: "NO_QUERY",
      });
    });
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    return await this.#call("diff", () => this.#strategy.diff(ref));
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    return await this.#call("commit", () => this.#strategy.commit(ref), SandboxCommitError);
  }

  async rollback(ref: SandboxRef): Promise<void> {
    await this.#call("rollback", () => this.#strategy.rollback(ref), SandboxRollbackError);
  }

  async checkpoint(ref: SandboxRef, id: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    const saved = await this.#call("checkpoint", () => this.#strategy.checkpoint(ref, id, last));
    return plain(saved ?? {}, this.name);
  }

  async discardCheckpoint(ref: SandboxRef, id: string): Promise<void> {
    await this.#call("discardCheckpoint", async () => this.#strategy.discardCheckpoint?.(ref, id));
  }

  async restoreCheckpoint(ref: SandboxRef, id: string): Promise<void> {
    await this.#call("restoreCheckpoint", () => this.#strategy.restoreCheckpoint(ref, id), SandboxRollbackError);
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    await this.#call("cleanup", () => this.#strategy.cleanup(ref));
  }

  async path(ref: SandboxRef): Promise<string | undefined> {
    return await this.#call("path", async () => this.#strategy.path?.(ref));
  }

  /** What programs see; for a strategy without views of its own, what is at its path. Undefined if there is nothing to be seen. */
  async enter(ref: SandboxRef): Promise<ProgramView | undefined> {
    return await this.#call("enter", async () => {
      if (this.#strategy.enter !== undefined) return await this.#strategy.enter(ref);
      const path = await this.#strategy.path?.(ref);
      return path?.startsWith("/") === true ? { kind: "place", path } : undefined;
    });
  }

  async leave(ref: SandboxRef): Promise<void> {
    await this.#call("leave", async () => this.#strategy.leave?.(ref));
  }

  async notes(ref: SandboxRef): Promise<readonly string[]> {
    return await this.#call("notes", async () => (await this.#strategy.notes?.(ref)) ?? []);
  }

  async environment(ref: SandboxRef): Promise<{ readonly [name: string]: string }> {
    return await this.#call("environment", async () => (await this.#strategy.environment?.(ref)) ?? {});
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    const prepared = await this.#call("prepare", () => this.#twoPhase().prepare(ref, transaction), SandboxCommitError);
    return prepared === null ? null : plain(prepared, this.name);
  }

  async commitPrepared(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<CommitResult> {
    return await this.#call(
      "commitPrepared",
      () => this.#twoPhase().commitPrepared(ref, transaction, prepared),
      SandboxCommitError,
    );
  }

  async rollbackPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit | undefined,
  ): Promise<readonly Attention[]> {
    const attention = await this.#call(
      "rollbackPrepared",
      () => this.#twoPhase().rollbackPrepared(ref, transaction, prepared),
      SandboxRollbackError,
    );
    return plain(attention ?? [], this.name);
  }

  async discardUndo(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<void> {
    await this.#call("discardUndo", async () => this.#twoPhase().discardUndo?.(ref, transaction, prepared));
  }

  #twoPhase(): TwoPhaseSandboxStrategy {
    if (isTwoPhase(this.#strategy)) return this.#strategy;
    throw new UnsupportedError(`The strategy ${this.name} is not two-phase.`, { hint: BLAME });
  }

  async #call<T>(
    method: string,
    action: () => Promise<T>,
    type: new (message: string, options: object) => DrydockError = SandboxCommitError,
  ): Promise<T> {
    try {
      return await action();
    } catch (thrown) {
      if (thrown instanceof DrydockError) throw thrown;
      throw new type(`${method} of the strategy ${this.name} failed: ${messageOf(thrown)}`, {
        cause: thrown,
        hint: BLAME,
      });
    }
  }
}

const BLAME = "This is a defect of that strategy; --debug shows where.";

/** Only what survives JSON may go into the journal. */
function plain<T>(value: T, name: string): T {
  const text = JSON.stringify(value);
  if (text === undefined)
    throw new SandboxCommitError(`The strategy ${name} returned something that can't be stored.`, { hint: BLAME });
  return JSON.parse(text) as T & PlainData as T;
}
