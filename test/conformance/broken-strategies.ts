import { linkSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DiffView } from "../../src/core/change.ts";
import { SandboxConflictError, SandboxStateError } from "../../src/core/errors/errors.ts";
import type { Resource } from "../../src/core/resource/resource.ts";
import type { SandboxRef } from "../../src/core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  PreparedCommit,
  SandboxStrategy,
  Transaction,
} from "../../src/core/strategy.ts";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";

/** Strategies that really work, but for one thing each. */

/** Gives a sandbox a file of the original itself, so that work on it is work on the original. */
class SharesAnInode extends FilesystemCopyStrategy {
  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const ref = await super.create(planId, resource);
    const shared = join(String(ref.metadata["path"]), "image.bin");
    rmSync(shared);
    linkSync(join(resource.location, "image.bin"), shared);
    return ref;
  }
}

/** Knows its sandboxes only in memory. */
class ForgetsItsSandboxes extends FilesystemCopyStrategy {
  readonly #known = new Map<string, SandboxRef>();

  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const ref = await super.create(planId, resource);
    this.#known.set(ref.sandboxId, ref);
    return { ...ref, metadata: {} };
  }

  override async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    return await super.read(this.#knownRef(ref), path);
  }

  override async write(ref: SandboxRef, path: string, bytes: Uint8Array) {
    return await super.write(this.#knownRef(ref), path, bytes);
  }

  #knownRef(ref: SandboxRef): SandboxRef {
    const known = this.#known.get(ref.sandboxId);
    if (known === undefined) throw new Error(`unknown sandbox ${ref.sandboxId}`);
    return known;
  }
}

/** Makes a sandbox before it says so. */
class IntendsNothing extends FilesystemCopyStrategy {
  constructor(context: ConstructorParameters<typeof FilesystemCopyStrategy>[0]) {
    super({ ...context, recordIntent: async () => undefined });
  }
}

/** Takes a second create for a matter of course. */
class CreatesTwice extends FilesystemCopyStrategy {
  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    try {
      return await super.create(planId, resource);
    } catch (thrown) {
      if (!(thrown instanceof SandboxStateError)) throw thrown;
      const { stateDir } = this.context;
      await super.cleanup({
        sandboxId: `${planId}-${resource.id}`,
        planId,
        resourceId: resource.id,
        strategyName: this.name,
        metadata: {
          workspace: join(stateDir, "sandboxes", `${planId}-${resource.id}`),
          placement: "state",
          root: resource.location,
        },
      });
      return await super.create(planId, resource);
    }
  }
}

/** Lets the times of what lands be those of the landing. */
class LosesTimes extends FilesystemCopyStrategy {
  override async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    const result = await super.commitPrepared(ref, transaction, prepared);
    utimesSync(String(ref.metadata["root"]), new Date(), new Date());
    return result;
  }
}

/** Can land only once. */
class LandsOnce extends FilesystemCopyStrategy {
  static readonly #landed = new Set<string>();

  override async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    const id = `${String(ref.metadata["workspace"])} ${transaction.id}`;
    if (LandsOnce.#landed.has(id)) throw new Error("already landed");
    LandsOnce.#landed.add(id);
    return await super.commitPrepared(ref, transaction, prepared);
  }
}

/** Keeps what it staged when its prepare is taken back by somebody who does not know what it returned. */
class NeedsPrepared extends FilesystemCopyStrategy {
  override async rollbackPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared?: PreparedCommit,
  ): Promise<readonly Attention[]> {
    return prepared === undefined ? [] : await super.rollbackPrepared(ref, transaction);
  }
}

/** Always has something to land. */
class LandsNothing extends FilesystemCopyStrategy {
  override async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    return (await super.prepare(ref, transaction)) ?? { changes: 0, data: {} };
  }
}

/** Leaves the work in the sandbox. */
class RollsNothingBack extends FilesystemCopyStrategy {
  override async rollback(): Promise<void> {
    await Promise.resolve();
  }
}

/** Takes size and time for content. */
class ComparesSizeAndTime extends FilesystemCopyStrategy {
  override async diff(ref: SandboxRef): Promise<DiffView> {
    const { changes } = await super.diff(ref);
    return {
      changes: changes.filter(
        ({ before, after, operation }) =>
          operation !== "modified" || before?.size !== after?.size || before?.mtime !== after?.mtime,
      ),
    };
  }
}

/** Puts a path together without looking at it. */
class WritesAnywhere extends FilesystemCopyStrategy {
  override async write(ref: SandboxRef, path: string, bytes: Uint8Array) {
    const file = join(String(ref.metadata["path"]), path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
    return { path, operation: "modified", kind: "file" } as const;
  }
}

/** Lands over whatever others did meanwhile. */
class OverwritesOthers extends FilesystemCopyStrategy {
  override async commit(ref: SandboxRef): Promise<CommitResult> {
    try {
      return await super.commit(ref);
    } catch (thrown) {
      if (!(thrown instanceof SandboxConflictError)) throw thrown;
      const { changes } = await this.diff(ref);
      for (const { path, kind, operation } of changes) {
        if (kind === "file" && operation !== "deleted")
          writeFileSync(join(String(ref.metadata["root"]), path), await this.read(ref, path));
      }
      return { changes: 1, attention: [] };
    }
  }
}

/** Undoes over whatever others did since. */
class UndoesOverOthers extends FilesystemCopyStrategy {
  override async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    return transaction.undoes?.prepared ?? (await super.prepare(ref, transaction));
  }
}

/** Brings back what was deleted, and keeps what was added. */
class RestoresOver extends FilesystemCopyStrategy {
  override async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    const { changes } = await this.diff(ref);
    const added = changes.filter(({ operation, kind }) => operation === "added" && kind === "file");
    const kept = await Promise.all(
      added.map(async ({ path }) => [path, Buffer.from(await this.read(ref, path))] as const),
    );
    await super.restoreCheckpoint(ref, checkpointId);
    for (const [path, bytes] of kept) await this.write(ref, path, bytes);
  }
}

type StrategyClass = new (
  context: ConstructorParameters<typeof FilesystemCopyStrategy>[0],
) => SandboxStrategy;

/** Each with the case that has to catch it, and what that has to say. */
export const BROKEN_STRATEGIES: readonly (readonly [
  whatItDoes: string,
  strategy: StrategyClass,
  caughtBy: string,
  reason: RegExp,
])[] = [
  [
    "shares an inode with the original",
    SharesAnInode,
    "never shares an inode between sandbox and original",
    /image.bin is the same inode/,
  ],
  [
    "knows its sandboxes only in memory",
    ForgetsItsSandboxes,
    "works in another process, which has nothing but the ref",
    /unknown sandbox/,
  ],
  [
    "makes a sandbox before it says so",
    IntendsNothing,
    "records its intent with the ref it is going to return before anything exists",
    /did not call recordIntent/,
  ],
  [
    "makes a sandbox anew over one that is there",
    CreatesTwice,
    "refuses a second create of the same sandbox with SandboxStateError",
    /should be refused, but was done/,
  ],
  ["loses times", LosesTimes, "lands exactly: times of files, links and folders, the root's too", /mtime is/],
  ["can land only once", LandsOnce, "can be told to land any number of times", /already landed/],
  [
    "takes nothing back that it is not told of",
    NeedsPrepared,
    "gives the work back without being told what prepare returned",
    /should be as before prepare/,
  ],
  [
    "always has something to land",
    LandsNothing,
    "prepares a sandbox without work as null, and takes that back as a matter of course",
    /should be null/,
  ],
  [
    "rolls nothing back",
    RollsNothingBack,
    "shows the original again after a rollback",
    /should be as the original/,
  ],
  [
    "takes size and time for content",
    ComparesSizeAndTime,
    "finds other content of the same size and the same modification time",
    /should be \["modified file same-size"\]/,
  ],
  [
    "writes wherever a path leads",
    WritesAnywhere,
    "refuses to read or write by a path that leads out",
    /writing .* should be refused, but was done/,
  ],
  [
    "lands over what others did meanwhile",
    OverwritesOthers,
    "refuses to land over another writer's changes, names every path, and changes nothing",
    /should be refused, but was done/,
  ],
  [
    "undoes over what others did since",
    UndoesOverOthers,
    "refuses to undo over what another writer changed since",
    /should be refused, but was done/,
  ],
  [
    "keeps what was added since a checkpoint",
    RestoresOver,
    "brings back exactly the state of a checkpoint: what was added is gone, what was deleted is back",
    /added-since should not be there/,
  ],
];
