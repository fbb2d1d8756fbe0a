import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import type { Change, DiffView } from "../../core/change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { displayPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  PreparedCommit,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "../../core/strategy.ts";
import type {
  Enterable,
  Inspectable,
  ProbeResult,
  Probing,
  Reachable,
  StrategyWay,
  Tabular,
} from "../../core/strategy-abilities.ts";
import type { ChangedRows, RowRange } from "../../core/values/changed-rows.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { rowJson } from "../../database/common/row-json.ts";
import { type CloneWork, countChanges } from "../../database/server/clone/clone-changes.ts";
import { preparedLanding } from "../../engine/manifest/prepared-landing.ts";
import {
  assertSameBoot,
  notRolledBack,
  openPlaceOf,
  placeOf,
} from "../../engine/sandbox/sandbox-reference.ts";
import { homePath, openWorkspace } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import {
  type NewReference,
  type NewSandbox,
  type SavedWork,
  type WorkspaceContent,
  WorkspaceStrategy,
} from "../folder/workspace-strategy.ts";
import type { CloneDialect } from "./clone.ts";
import { bringBack, discardSaved, saveClone } from "./clone-checkpoints.ts";
import { cloneDiff, landedDiff } from "./clone-diff.ts";
import { CloneLandings } from "./clone-landings.ts";
import { cloneRows } from "./clone-rows.ts";
import { CloneSandbox, cloneReference, PATIENCE_MS, removeSockets, serverFolder } from "./clone-sandbox.ts";

/** The name of a socket has few bytes, so the folders of sockets are not in the workspaces. */
const SOCKETS = "db";
const REMOVAL = { point: failpoint("clone.cleanup"), keeps: ["landings"] };

/**
 * `snapshot` for a database on a server: a clone of it, on a server of the plan's own, which any number of
 * clients use at once. What differs from the base lands in one transaction of the original, by its two-phase
 * commit, unless other sessions changed the same rows. A subclass says what its dialect has to say.
 */
export abstract class CloneStrategy
  extends WorkspaceStrategy<CloneSandbox>
  implements TwoPhaseSandboxStrategy, Tabular, Inspectable, Reachable, Enterable, Probing
{
  readonly name = "snapshot";
  abstract readonly capabilities: TwoPhaseCapabilities;
  protected abstract readonly dialect: CloneDialect;
  protected override readonly removal = REMOVAL;

  async probe(): Promise<ProbeResult> {
    const reason = await this.dialect.whyNone();
    return reason === undefined ? { works: true } : { works: false, reason, instead: "transaction_rollback" };
  }

  async ways(): Promise<readonly StrategyWay[]> {
    return await this.dialect.ways();
  }

  protected async design(made: NewReference, { location }: Resource): Promise<NewSandbox> {
    const secret = this.context.secretsOf?.(made.planId)[made.resourceId];
    const { stateDir } = this.context;
    const { planId, resourceId, sandboxId } = made;
    const facts = await this.dialect.look({ location, secret, patienceMs: PATIENCE_MS });
    const workspace = homePath(stateDir, sandboxId);
    const sockets = `${stateDir}/${SOCKETS}/${planId.slice(-10)}${resourceId.slice(-6)}`;
    const metadata = { ...facts, workspace, placement: "state", root: workspace, location, sockets };
    const ref = { ...made, metadata };
    using earlier = openWorkspace(placeOf(ref).path);
    // The server of a creation that died would go on without its files.
    if (earlier !== undefined && !this.contentOf(ref, earlier).isFinished)
      await this.dialect.end(serverFolder(workspace));
    const places = [
      { kind: "folder", location: workspace },
      { kind: "folder", location: sockets },
      { kind: "process", location: serverFolder(workspace) },
      { kind: "prepared transaction", location: `${location}#drydock-${planId}-${resourceId}` },
      ...this.dialect.places(made, location),
    ];
    return { ref, places, make: (into) => this.sandboxIn(ref, into).make() };
  }

  /** The rows of a table as lines of JSON; for "." the definitions of the database. */
  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    using sandbox = await this.open(ref);
    const clone = await sandbox.clone();
    if (path === ROOT_PATH) {
      const all = await clone.definitions();
      return Buffer.from(all.map((sql) => `${sql.trim()}\n`).join("\n"));
    }
    const table = await clone.table(path);
    if (table === undefined)
      throw new UsageError(`The database has no table called '${displayPath(path)}'.`, {
        hint: "Reading '.' shows what it has.",
        code: "NO_SUCH_FILE",
      });
    return Buffer.from(table.rows.map((row) => `${rowJson(table.columns, row)}\n`).join(""));
  }

  /** Runs the statements in the bytes. The name must end in `.sql`. */
  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    if (!path.toLowerCase().endsWith(".sql"))
      throw new UsageError(
        `A database takes statements, and '${displayPath(path)}' is not called like a file of them.`,
        { hint: "Write to a name that ends in .sql, or run the statements by sql.", code: "BAD_PATH" },
      );
    await this.query(ref, Buffer.from(bytes).toString(), { readOnly: false });
    return { path, operation: "modified", kind: "object", after: { size: bytes.length } };
  }

  async query(
    ref: SandboxRef,
    script: string,
    { readOnly }: { readonly readOnly: boolean },
  ): Promise<readonly StatementResult[]> {
    using sandbox = await this.open(ref);
    return await (await sandbox.cloneForClients()).run(script, { readOnly });
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    return { changes: cloneDiff(await this.#work(ref)) };
  }

  async changedRows(ref: SandboxRef, path: string, range: RowRange): Promise<ChangedRows> {
    return cloneRows(await this.#work(ref), path, range);
  }

  async saved(ref: SandboxRef, checkpointId: string): Promise<readonly Change[]> {
    return cloneDiff(await this.#work(ref, checkpointId));
  }

  /** The URL by which clients come into the clone. */
  async path(ref: SandboxRef): Promise<string> {
    using sandbox = await this.open(ref);
    return (await sandbox.cloneForClients()).clientUrl();
  }

  /** Programs see the folder of the socket. */
  async enter(ref: SandboxRef): Promise<ProgramView> {
    await this.path(ref);
    return { kind: "place", path: cloneReference(ref).sockets, atOwnPath: true };
  }

  async leave(): Promise<void> {
    // The server goes on until the plan ends.
  }

  async environment(ref: SandboxRef): Promise<{ readonly [name: string]: string }> {
    using sandbox = await this.open(ref);
    return (await sandbox.cloneForClients()).environment();
  }

  async notes(ref: SandboxRef): Promise<readonly string[]> {
    return this.dialect.notes(ref);
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (transaction.undoes !== undefined) {
      using sandbox = this.#inside(ref);
      return await new CloneLandings(sandbox).prepareUndo(transaction, transaction.undoes.prepared);
    }
    using sandbox = await this.open(ref);
    if (transaction.afterRestart !== true) assertSameBoot(sandbox);
    const clone = await sandbox.clone();
    await sandbox.keepOut(clone);
    const work = await clone.work();
    const whyNot = work.whyNot ?? (await clone.whyNotAround());
    if (whyNot !== undefined) throw notCarried(whyNot);
    if (work.definitions.length + countChanges(work.changes) === 0) return null;
    return await new CloneLandings(sandbox).prepare(transaction, work, await clone.wayBack(work));
  }

  async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    using sandbox = this.#inside(ref);
    if (sandbox.isFinished) sandbox.markStale();
    const attention = await new CloneLandings(sandbox).commit(transaction, prepared);
    return { changes: prepared.changes, attention };
  }

  async rollbackPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared?: PreparedCommit,
  ): Promise<readonly Attention[]> {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace === undefined) return [];
    const sandbox = this.sandboxIn(ref, workspace);
    const landings = new CloneLandings(sandbox);
    const attention = await landings.giveUp(transaction, prepared);
    if (transaction.undoes === undefined) {
      sandbox.markFresh();
      landings.remove(transaction.id);
    }
    return attention;
  }

  async landed(
    ref: SandboxRef,
    _transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<readonly Change[]> {
    using sandbox = this.#inside(ref);
    return landedDiff(new CloneLandings(sandbox).landed(prepared));
  }

  async rollback(ref: SandboxRef): Promise<void> {
    using sandbox = this.#inside(ref);
    let isRestored = false;
    try {
      sandbox.markStale();
      const landings = new CloneLandings(sandbox);
      for (const id of landings.ids().reverse()) await landings.takeBack(id);
      isRestored = true;
      await sandbox.make();
    } catch (thrown) {
      throw notRolledBack(sandbox.location, isRestored, thrown);
    }
  }

  async checkpoint(ref: SandboxRef, checkpointId: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    using sandbox = await this.open(ref);
    return await saveClone(sandbox, checkpointId, last, this.work);
  }

  override async discardCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace !== undefined) await discardSaved(this.sandboxIn(ref, workspace), checkpointId);
    await super.discardCheckpoint(ref, checkpointId);
  }

  protected async assertRestorable(): Promise<void> {
    // Whoever is connected to the clone then loses the connection.
  }

  protected async bringBack(ref: SandboxRef, workspace: Folder, saved: SavedWork): Promise<void> {
    await bringBack(this.sandboxIn(ref, workspace), saved);
  }

  protected async remake(ref: SandboxRef, workspace: Folder): Promise<void> {
    await this.sandboxIn(ref, workspace).make();
  }

  protected async release(ref: SandboxRef, workspace: Folder | undefined): Promise<void> {
    if (workspace !== undefined) await this.sandboxIn(ref, workspace).removeServer();
    removeSockets(this.context.stateDir, cloneReference(ref));
  }

  protected sandboxIn(ref: SandboxRef, workspace: Folder): CloneSandbox {
    return new CloneSandbox(this.dialect, this.context, workspace, ref);
  }

  protected contentOf(ref: SandboxRef, workspace: Folder): WorkspaceContent {
    return this.sandboxIn(ref, workspace);
  }

  protected hasLandings(ref: SandboxRef, workspace: Folder): boolean {
    return new CloneLandings(this.sandboxIn(ref, workspace)).ids().length > 0;
  }

  protected async forgetLanding(ref: SandboxRef, workspace: Folder, prepared: PreparedCommit): Promise<void> {
    new CloneLandings(this.sandboxIn(ref, workspace)).remove(preparedLanding(prepared).landing);
  }

  async #work(ref: SandboxRef, checkpointId?: string): Promise<CloneWork> {
    using sandbox = await this.open(ref);
    return await (await sandbox.clone()).work(checkpointId);
  }

  /** The sandbox as it is, its work landed or not. */
  #inside(ref: SandboxRef): CloneSandbox {
    return this.sandboxIn(ref, openPlaceOf(ref));
  }
}

function notCarried(why: string): UnsupportedError {
  return new UnsupportedError(`The work in the clone can't land: ${why}.`, {
    hint: "Nothing was changed. Take that change back in the clone, or make it in the original by hand.",
  });
}
