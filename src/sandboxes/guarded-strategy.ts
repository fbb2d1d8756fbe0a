import type { Change, DiffView } from "../core/change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "../core/checkpoint.ts";
import {
  SandboxCommitError,
  SandboxCreationError,
  SandboxRollbackError,
  StrategyUnavailableError,
  UnsupportedError,
  UsageError,
} from "../core/errors.ts";
import type { ProgramView } from "../core/program-view.ts";
import type { StatementResult } from "../core/query.ts";
import type { PlainData, Resource } from "../core/resource.ts";
import { assertResourcePath } from "../core/resource-path.ts";
import type { MadeWith, SandboxRef } from "../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  PreparedCommit,
  SandboxStrategy,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "../core/strategy.ts";
import type { ProbeResult, StrategyWay } from "../core/strategy-abilities.ts";
import { BLAME, type ErrorType, errorFrom } from "./foreign-errors.ts";
import type { RegisteredStrategy } from "./registry.ts";
import * as results from "./strategy-results.ts";

/** How a strategy is found; with what a sandbox was made with, the one for that sandbox. */
export type ResolveStrategy = (made?: MadeWith) => Promise<RegisteredStrategy>;

interface Call<T> {
  readonly method: string;
  readonly ref?: SandboxRef;
  /** What it is an error of. */
  readonly type?: ErrorType;
  /** What a strategy that is not built in returned, as it may be used. */
  readonly checked?: (value: unknown) => T;
  /** It is let finish also when the user interrupts. */
  readonly finishes?: true;
  /** It may also be called for a sandbox that another version of the strategy made. */
  readonly anyVersion?: true;
}

/**
 * Stands between Drydock and a strategy, so that the rules hold whatever the strategy does. For all of them paths are checked, what is to be
 * stored is plain data, and what it throws becomes an error that names it; an error of ours passes as it is, and nothing is wrapped twice. For
 * those of the user's own, besides: they are loaded when they are first called, each call is bounded in time, they get copies of what we keep, and what they
 * return is checked.
 */
export class GuardedStrategy {
  readonly name: string;
  readonly #resolve: ResolveStrategy;

  constructor(name: string, resolve: ResolveStrategy) {
    this.name = name;
    this.#resolve = resolve;
  }

  /** Loads it, and sees that it is the one that this sandbox was made with. */
  async assertUsable(ref: SandboxRef): Promise<void> {
    await this.#resolved({ method: "", ref });
  }

  /** Why what it has to say of this sandbox can't count: it is of another version. */
  async isOtherVersion(ref: SandboxRef): Promise<boolean> {
    return (await this.#resolve(ref.madeWith ?? {})).madeWith.version !== ref.madeWith?.version;
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const { custom, madeWith } = await this.#resolve();
    using _ = custom?.making(planId, resource, this.name, madeWith);
    const ref = await this.#call<SandboxRef>(
      {
        method: "create",
        type: SandboxCreationError,
        checked: (value) => results.refFrom(value, planId, resource.id, this.name, madeWith),
      },
      (strategy, own) => strategy.create(planId, own(resource)),
    );
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
    return await this.#call({ method: "read", ref, checked: results.bytesFrom }, (strategy, own) =>
      strategy.read(own(ref), checked),
    );
  }

  async readOriginal(ref: SandboxRef, path: string): Promise<Uint8Array | undefined> {
    const checked = assertResourcePath(path);
    const bytes = (value: unknown) => (value === undefined ? undefined : results.bytesFrom(value));
    return await this.#call({ method: "readOriginal", ref, checked: bytes }, async (strategy, own) =>
      strategy.readOriginal?.(own(ref), checked),
    );
  }

  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    const checked = assertResourcePath(path);
    return await this.#call({ method: "write", ref, checked: results.changeFrom }, (strategy, own) =>
      strategy.write(own(ref), checked, bytes),
    );
  }

  async query(
    ref: SandboxRef,
    script: string,
    options: { readonly readOnly: boolean },
  ): Promise<readonly StatementResult[]> {
    return await this.#call({ method: "query", ref, checked: results.statementsFrom }, async (strategy, own) => {
      if (strategy.query !== undefined) return await strategy.query(own(ref), script, options);
      throw new UsageError("This resource takes no statements: it is no database.", {
        hint: "Use 'drydock plan read' and 'plan write'.",
        code: "NO_QUERY",
      });
    });
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    return await this.#call({ method: "diff", ref, checked: results.diffFrom }, (strategy, own) =>
      strategy.diff(own(ref)),
    );
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    const checked = (value: unknown) => results.commitResultFrom(value, 0, "commit", this.name);
    const type = SandboxCommitError;
    return await this.#call({ method: "commit", ref, type, checked, finishes: true }, (strategy, own) =>
      strategy.commit(own(ref)),
    );
  }

  async rollback(ref: SandboxRef): Promise<void> {
    const type = SandboxRollbackError;
    await this.#call({ method: "rollback", ref, type, finishes: true, anyVersion: true }, (strategy, own) =>
      strategy.rollback(own(ref)),
    );
  }

  async checkpoint(ref: SandboxRef, id: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    const saved = await this.#call({ method: "checkpoint", ref, checked: results.savedFrom }, async (strategy, own) =>
      strategy.checkpoint(own(ref), id, last),
    );
    return plain(saved ?? {}, this.name);
  }

  async discardCheckpoint(ref: SandboxRef, id: string): Promise<void> {
    await this.#call({ method: "discardCheckpoint", ref, anyVersion: true }, async (strategy, own) =>
      strategy.discardCheckpoint?.(own(ref), id),
    );
  }

  async restoreCheckpoint(ref: SandboxRef, id: string): Promise<void> {
    const type = SandboxRollbackError;
    await this.#call({ method: "restoreCheckpoint", ref, type, finishes: true }, (strategy, own) =>
      strategy.restoreCheckpoint(own(ref), id),
    );
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    await this.#call({ method: "cleanup", ref, finishes: true, anyVersion: true }, (strategy, own) =>
      strategy.cleanup(own(ref)),
    );
  }

  async path(ref: SandboxRef): Promise<string | undefined> {
    return await this.#call({ method: "path", ref, checked: results.pathFrom }, async (strategy, own) =>
      strategy.path?.(own(ref)),
    );
  }

  /** What programs see; for a strategy without views of its own, what is at its path. Undefined if there is nothing to be seen. */
  async enter(ref: SandboxRef): Promise<ProgramView | undefined> {
    const checked = (value: unknown) => (value === undefined ? undefined : results.viewFrom(value));
    return await this.#call({ method: "enter", ref, checked }, async (strategy, own) => {
      if (strategy.enter !== undefined) return await strategy.enter(own(ref));
      const path = await strategy.path?.(own(ref));
      return path?.startsWith("/") === true ? { kind: "place", path } : undefined;
    });
  }

  async leave(ref: SandboxRef): Promise<void> {
    await this.#call({ method: "leave", ref, finishes: true }, async (strategy, own) => strategy.leave?.(own(ref)));
  }

  async notes(ref: SandboxRef): Promise<readonly string[]> {
    return await this.#call(
      { method: "notes", ref, checked: results.linesFrom },
      async (strategy, own) => (await strategy.notes?.(own(ref))) ?? [],
    );
  }

  async environment(ref: SandboxRef): Promise<{ readonly [name: string]: string }> {
    return await this.#call(
      { method: "environment", ref, checked: results.environmentFrom },
      async (strategy, own) => (await strategy.environment?.(own(ref))) ?? {},
    );
  }

  async probe(resource: Resource): Promise<ProbeResult> {
    return await this.#call(
      { method: "probe", type: UnsupportedError, checked: results.probeFrom },
      async (strategy, own) => (await strategy.probe?.(own(resource))) ?? { works: true },
    );
  }

  async ways(): Promise<readonly StrategyWay[] | undefined> {
    return await this.#call({ method: "ways", type: UnsupportedError, checked: results.waysFrom }, async (strategy) =>
      strategy.ways?.(),
    );
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    const call = { method: "prepare", ref, type: SandboxCommitError, checked: results.preparedFrom };
    // One that does not know of parts would land everything.
    const canPart = async () =>
      ref.capabilities?.partial !== false && (await this.#resolved(call)).capabilities.partial;
    if (transaction.only !== undefined && !(await canPart()))
      throw new UnsupportedError(`The strategy ${this.name} can't land a part of the work.`, {
        hint: "Apply the plan as a whole.",
      });
    const prepared = await this.#callTwoPhase(call, (strategy, own) => strategy.prepare(own(ref), own(transaction)));
    return prepared === null ? null : plain(prepared, this.name);
  }

  async commitPrepared(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<CommitResult> {
    const method = "commitPrepared";
    const checked = (value: unknown) => results.commitResultFrom(value, prepared.changes, method, this.name);
    const call = { method, ref, type: SandboxCommitError, checked, finishes: true } as const;
    return await this.#callTwoPhase(call, (strategy, own) =>
      strategy.commitPrepared(own(ref), own(transaction), own(prepared)),
    );
  }

  async rollbackPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit | undefined,
  ): Promise<readonly Attention[]> {
    const method = "rollbackPrepared";
    const checked = (value: unknown) => results.takenBackFrom(value, method, this.name);
    const call = { method, ref, type: SandboxRollbackError, checked, finishes: true } as const;
    const attention = await this.#callTwoPhase(call, async (strategy, own) =>
      strategy.rollbackPrepared(own(ref), own(transaction), prepared && own(prepared)),
    );
    return plain(attention ?? [], this.name);
  }

  async discardUndo(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<void> {
    const call = { method: "discardUndo", ref, finishes: true, anyVersion: true } as const;
    await this.#call(call, async (strategy, own) => strategy.discardUndo?.(own(ref), own(transaction), own(prepared)));
  }

  async #callTwoPhase<T>(
    call: Call<T>,
    action: (strategy: TwoPhaseSandboxStrategy, own: typeof results.ownCopy) => Promise<T>,
  ): Promise<T> {
    const { capabilities } = await this.#resolved(call);
    if (capabilities.commit !== "two-phase")
      throw new UnsupportedError(`The strategy ${this.name} is not two-phase.`, { hint: BLAME });
    return await this.#call(call, (strategy, own) => action(strategy as TwoPhaseSandboxStrategy, own));
  }

  async #call<T>(
    call: Call<T>,
    action: (strategy: SandboxStrategy, own: typeof results.ownCopy) => Promise<T>,
  ): Promise<T> {
    const { strategy, custom } = await this.#resolved(call);
    const { method, type = SandboxCommitError, checked, finishes } = call;
    try {
      if (custom === undefined) return await action(strategy, itself);
      const patience = finishes === true ? "to-the-end" : "until-interrupted";
      const bounds = { strategy: this.name, method, patience } as const;
      const value = await custom.limit.within(bounds, async () => await action(strategy, results.ownCopy));
      return checked === undefined ? value : checked(value);
    } catch (thrown) {
      throw errorFrom(thrown, method, this.name, type);
    }
  }

  async #resolved({
    ref,
    anyVersion,
  }: Pick<Call<unknown>, "method" | "ref" | "anyVersion">): Promise<RegisteredStrategy> {
    if (ref === undefined) return await this.#resolve();
    const found = await this.#resolve(ref.madeWith ?? {});
    const [then, now] = [ref.madeWith?.version, found.madeWith.version];
    if (then === now || anyVersion === true) return found;
    throw new StrategyUnavailableError(
      `The sandbox was made by ${versionText(then)} of the strategy ${this.name}; here is ${versionText(now)}.`,
      {
        strategy: this.name,
        hint: "Bring that version back, or cancel the plan with 'drydock plan cancel'.",
        code: "STRATEGY_CHANGED",
      },
    );
  }
}

/** What is built in gets what we have itself: it is trusted not to change it. */
function itself<T>(value: T): T {
  return value;
}

function versionText(version: string | undefined): string {
  return version === undefined ? "one without a version" : `version ${version}`;
}

/** Only what survives JSON may go into the journal. */
function plain<T>(value: T, name: string): T {
  const text = JSON.stringify(value);
  if (text === undefined)
    throw new SandboxCommitError(`The strategy ${name} returned something that can't be stored.`, { hint: BLAME });
  return JSON.parse(text) as T & PlainData as T;
}
