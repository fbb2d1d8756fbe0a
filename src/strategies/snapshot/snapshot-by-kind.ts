import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import type { Change, DiffView } from "../../core/change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import { UsageError } from "../../core/errors.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { StatementResult } from "../../core/query.ts";
import type { Resource } from "../../core/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  PreparedCommit,
  StrategyContext,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "../../core/strategy.ts";
import type { ProbeResult, StrategyWay } from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import { factsOfPath } from "../../system/locations.ts";
import { SnapshotStrategy } from "./snapshot.ts";
import { SqliteSnapshot } from "./sqlite-snapshot.ts";

/** `snapshot` as it is registered: hands over to the class for what the resource is, a folder or the file of a database. */
export class SnapshotByKind implements TwoPhaseSandboxStrategy {
  readonly name = "snapshot";
  readonly capabilities: TwoPhaseCapabilities;
  readonly #folders: SnapshotStrategy;
  readonly #sqlite: SqliteSnapshot;

  constructor(context: StrategyContext) {
    this.#folders = new SnapshotStrategy(context);
    this.#sqlite = new SqliteSnapshot(context);
    const types = [this.#folders, this.#sqlite].flatMap(({ capabilities }) => capabilities.resourceTypes ?? []);
    this.capabilities = {
      ...this.#folders.capabilities,
      strength: builtInStrength("snapshot"),
      resourceTypes: types,
    };
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    return await this.#forResource(resource).create(planId, resource);
  }

  async probe(resource: Resource): Promise<ProbeResult> {
    return await this.#forResource(resource).probe(resource);
  }

  async ways(): Promise<readonly StrategyWay[]> {
    const sqlite = { name: "sqlite", works: true, detail: "works, for SQLite databases on any file system" };
    return [...(await this.#folders.ways()), sqlite];
  }

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    return await this.#for(ref).read(ref, path);
  }

  async readOriginal(ref: SandboxRef, path: string): Promise<Uint8Array | undefined> {
    return isDatabase(ref) ? undefined : await this.#folders.readOriginal(ref, path);
  }

  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    return await this.#for(ref).write(ref, path, bytes);
  }

  async query(
    ref: SandboxRef,
    script: string,
    options: { readonly readOnly: boolean },
  ): Promise<readonly StatementResult[]> {
    if (isDatabase(ref)) return await this.#sqlite.query(ref, script, options);
    throw new UsageError("This resource takes no statements: it is no database.", {
      hint: "Use 'drydock plan read' and 'plan write'.",
      code: "NO_QUERY",
    });
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    return await this.#for(ref).diff(ref);
  }

  async path(ref: SandboxRef): Promise<string> {
    return await this.#for(ref).path(ref);
  }

  async enter(ref: SandboxRef): Promise<ProgramView> {
    if (isDatabase(ref)) return await this.#sqlite.enter(ref);
    return { kind: "place", path: await this.#folders.path(ref) };
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    return await this.#for(ref).prepare(ref, transaction);
  }

  async commitPrepared(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<CommitResult> {
    return await this.#for(ref).commitPrepared(ref, transaction, prepared);
  }

  async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]> {
    return await this.#for(ref).rollbackPrepared(ref, transaction);
  }

  async discardUndo(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<void> {
    await this.#for(ref).discardUndo(ref, transaction, prepared);
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    return await this.#for(ref).commit(ref);
  }

  async rollback(ref: SandboxRef): Promise<void> {
    await this.#for(ref).rollback(ref);
  }

  async checkpoint(ref: SandboxRef, checkpointId: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    return await this.#for(ref).checkpoint(ref, checkpointId, last);
  }

  async discardCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    await this.#for(ref).discardCheckpoint(ref, checkpointId);
  }

  async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    await this.#for(ref).restoreCheckpoint(ref, checkpointId);
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    await this.#for(ref).cleanup(ref);
  }

  /** By what is there too, because a type from the config may be made out of either. */
  #forResource({ type, location }: Resource): SnapshotStrategy | SqliteSnapshot {
    const isDatabase = type === "sqlite-database" || factsOfPath(location)?.kind === "file";
    return isDatabase ? this.#sqlite : this.#folders;
  }

  #for(ref: SandboxRef): SnapshotStrategy | SqliteSnapshot {
    return isDatabase(ref) ? this.#sqlite : this.#folders;
  }
}

/** The reference to the sandbox of a database says where that is. */
function isDatabase({ metadata }: SandboxRef): boolean {
  return typeof metadata["location"] === "string";
}
