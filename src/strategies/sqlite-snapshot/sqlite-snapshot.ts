import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import type { Change, DiffView, ExactPart } from "../../core/change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import { messageOf, UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  PreparedCommit,
  StrategyContext,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "../../core/strategy.ts";
import type {
  Inspectable,
  Mergeable,
  ProbeResult,
  StrategyWay,
  Tabular,
} from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import type { ChangedRows, RowRange } from "../../core/values/changed-rows.ts";
import type { Resolution, ResolveReport, UpdateReport } from "../../core/values/merge.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { rowJson } from "../../database/common/row-json.ts";
import { type Patience, quoted, SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import { saveUnlessSame } from "../../engine/checkpoint/tree-checkpoints.ts";
import { preparedLanding } from "../../engine/manifest/prepared-landing.ts";
import {
  assertSameBoot,
  notRolledBack,
  openPlaceOf,
  placeOf,
} from "../../engine/sandbox/sandbox-reference.ts";
import { openWorkspace } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { failpoint } from "../../system/failpoints.ts";
import {
  type NewReference,
  type NewSandbox,
  type SavedWork,
  type WorkspaceContent,
  WorkspaceStrategy,
} from "../folder/workspace-strategy.ts";
import { assertHasBase, bringBack, saveCheckpoint, savedFiles, stateOf } from "./sqlite-checkpoints.ts";
import { recordDifference, sqliteDiff } from "./sqlite-diff.ts";
import { type LockedOriginals, SqliteLandings } from "./sqlite-landings.ts";
import { openConflicts } from "./sqlite-merges.ts";
import { sqliteRows } from "./sqlite-rows.ts";
import { SqliteSandbox } from "./sqlite-sandbox.ts";
import { databaseKind, notADatabase } from "./sqlite-source.ts";
import { decodeReference, SqliteView, viewFolder } from "./sqlite-view.ts";

const REMOVAL = { point: failpoint("sqlite.cleanup"), keeps: ["landings"] };
const DEFAULT_WAIT_MS = 10_000;

export interface SqliteSnapshotOptions {
  /** How long to wait for other programs that have locked a database. Default: 10 seconds. */
  readonly waitMs?: number;
}

/**
 * `snapshot` for SQLite: a consistent copy of the live database, which any tool can open by its path. The
 * rows and definitions that differ from the base land in one transaction of the original, unless other
 * writers changed the same ones.
 */
export class SqliteSnapshotStrategy
  extends WorkspaceStrategy<SqliteSandbox>
  implements TwoPhaseSandboxStrategy, Mergeable, Tabular, Inspectable
{
  readonly name = "snapshot";
  readonly capabilities: TwoPhaseCapabilities = {
    commit: "two-phase",
    undo: true,
    checkpoint: true,
    isolation: "copy",
    strength: builtInStrength("snapshot"),
    resourceTypes: ["sqlite-database"],
  };
  protected override readonly removal = REMOVAL;
  readonly #patience: Patience;
  readonly #locked: LockedOriginals = new Map();

  constructor(context: StrategyContext, options: SqliteSnapshotOptions = {}) {
    super(context);
    this.#patience = {
      limitMs: options.waitMs ?? DEFAULT_WAIT_MS,
      get signal() {
        return context.signal;
      },
    };
  }

  async probe(resource: Resource): Promise<ProbeResult> {
    // A question in general, without a database: it works for all of them.
    if (factsOfPath(resource.location)?.kind !== "file") return { works: true };
    return databaseKind(resource.location) === undefined
      ? { works: false, reason: messageOf(notADatabase(resource.location)).replace(/\.$/, "") }
      : { works: true };
  }

  async ways(): Promise<readonly StrategyWay[]> {
    return [{ name: "sqlite", works: true, detail: "works, for SQLite databases on any file system" }];
  }

  protected async design(made: NewReference, { location }: Resource): Promise<NewSandbox> {
    const { stateDir } = this.context;
    const workspacePath = `${stateDir}/sandboxes/${made.sandboxId}`;
    const [root, only] = [parentPath(location), baseName(location)];
    const view = viewFolder(stateDir, made.planId, root);
    const path = `${view}/own/${only}`;
    const metadata = { workspace: workspacePath, placement: "state", root, only, location, view, path };
    const ref: SandboxRef = { ...made, metadata };
    return {
      ref,
      places: [workspacePath, view].map((place) => ({ kind: "folder", location: place })),
      make: (workspace) => this.sandboxIn(ref, workspace).make(this.#patience),
    };
  }

  /** The rows of a table or view as lines of JSON; for "." the whole schema. */
  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    using sandbox = await this.open(ref);
    using db = sandbox.open();
    if (path === ROOT_PATH)
      return linesOf(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid");
    assertTable(db, path);
    return linesOf(db, `SELECT * FROM main.${quoted(path)}`);
  }

  /** Runs the statements in the bytes. The name must end in `.sql`. */
  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    if (!path.toLowerCase().endsWith(".sql"))
      throw new UsageError(
        `A database takes statements, and '${displayPath(path)}' is not called like a file of them.`,
        {
          hint: "Write to a name that ends in .sql, or run the statements by sql.",
          code: "BAD_PATH",
        },
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
    using db = sandbox.open();
    // No flush here: the copy itself is not flushed yet, and a sandbox does not outlive a restart of the
    // machine.
    db.exec("PRAGMA synchronous = OFF");
    db.confine(readOnly);
    return await db.run(script);
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    using sandbox = await this.open(ref);
    using db = sandbox.openWithBase();
    return sqliteDiff(db, sandbox.basePath);
  }

  async saved(ref: SandboxRef, checkpointId: string): Promise<readonly Change[]> {
    using sandbox = await this.open(ref);
    const { own, base } = savedFiles(sandbox.workspace, checkpointId);
    using db = new SqliteDatabase(own, "frozen");
    db.attach(base, "frozen", "base");
    return sqliteDiff(db, base).changes;
  }

  async changedRows(ref: SandboxRef, path: string, range: RowRange): Promise<ChangedRows> {
    using sandbox = await this.open(ref);
    using db = sandbox.openWithBase();
    recordDifference(db, sandbox.basePath);
    return sqliteRows(db, path, range);
  }

  async keepBases(): Promise<void> {
    // The whole base is there.
  }

  async update(ref: SandboxRef): Promise<UpdateReport> {
    const { updateDatabase } = await import("./sqlite-update.ts");
    using sandbox = await this.#openFrozen(ref);
    return await updateDatabase(sandbox, this.#patience);
  }

  async resolve(ref: SandboxRef, path: string, how: Resolution): Promise<ResolveReport> {
    const { resolveConflict } = await import("./sqlite-update.ts");
    using sandbox = await this.#openFrozen(ref);
    await resolveConflict(sandbox, path, how, this.#patience);
    return { path };
  }

  async takeOut(ref: SandboxRef, part: ExactPart): Promise<void> {
    const { takeOutOfDatabase } = await import("./sqlite-update.ts");
    using sandbox = await this.#openFrozen(ref);
    takeOutOfDatabase(sandbox, part);
  }

  async path(ref: SandboxRef): Promise<string> {
    using sandbox = await this.open(ref);
    return sandbox.path;
  }

  async enter(ref: SandboxRef): Promise<ProgramView> {
    using sandbox = await this.open(ref);
    // A program that has the copy open by its path holds locks that a command inside would not see.
    if (sandbox.view.inside() === undefined) sandbox.freeze();
    return sandbox.view.show();
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (transaction.undoes !== undefined) {
      using sandbox = this.#inside(ref);
      return await this.#landings(sandbox).prepareUndo(transaction, transaction.undoes.prepared);
    }
    // Only an old reference, which does not say that a database has no parts, gets this far.
    if (transaction.only !== undefined)
      throw new UnsupportedError("A database can't land in parts.", { hint: "Apply the plan as a whole." });
    using sandbox = await this.#openFrozen(ref);
    if (transaction.afterRestart !== true) assertSameBoot(sandbox);
    if (openConflicts(sandbox.workspace).length > 0)
      (await import("./sqlite-update.ts")).assertResolved(sandbox);
    return await this.#landings(sandbox).prepare(transaction);
  }

  async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    using sandbox = this.#inside(ref);
    if (sandbox.isFinished) sandbox.markStale();
    await this.#landings(sandbox).commit(transaction, prepared);
    return { changes: prepared.changes, attention: [] };
  }

  async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]> {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace === undefined) return [];
    const sandbox = this.sandboxIn(ref, workspace);
    const landings = this.#landings(sandbox);
    landings.releaseOriginal(transaction.id);
    await landings.removeDeadJournal(landingOf(transaction));
    if (transaction.undoes !== undefined || !landings.ids().includes(transaction.id)) return [];
    return await landings.giveUp(transaction.id, () => sandbox.markFresh());
  }

  async landed(
    ref: SandboxRef,
    _transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<readonly Change[]> {
    using sandbox = this.#inside(ref);
    return this.#landings(sandbox).landed(prepared);
  }

  protected async forgetLanding(ref: SandboxRef, workspace: Folder, prepared: PreparedCommit): Promise<void> {
    this.#landings(this.sandboxIn(ref, workspace)).discard(prepared);
  }

  async rollback(ref: SandboxRef): Promise<void> {
    using sandbox = this.#inside(ref);
    let isRestored = false;
    try {
      sandbox.assertUnused();
      sandbox.markStale();
      const landings = this.#landings(sandbox);
      for (const id of landings.ids().reverse()) await landings.takeBack(id);
      isRestored = true;
      await sandbox.make(this.#patience);
    } catch (thrown) {
      throw notRolledBack(sandbox.location, isRestored, thrown);
    }
  }

  async checkpoint(ref: SandboxRef, checkpointId: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    using sandbox = await this.#openFrozen(ref);
    return await saveUnlessSame(sandbox.workspace, { id: checkpointId, last }, stateOf(sandbox), () =>
      this.work.run("saving", saveCheckpoint(sandbox, checkpointId)),
    );
  }

  protected async assertRestorable(ref: SandboxRef, workspace: Folder, id: string): Promise<void> {
    this.sandboxIn(ref, workspace).assertUnused();
    assertHasBase(workspace, id);
  }

  protected async bringBack(ref: SandboxRef, workspace: Folder, saved: SavedWork): Promise<void> {
    await this.work.run("restoring", bringBack(this.sandboxIn(ref, workspace), saved));
  }

  protected async remake(ref: SandboxRef, workspace: Folder): Promise<void> {
    await this.sandboxIn(ref, workspace).make(this.#patience);
  }

  protected async release(ref: SandboxRef, workspace: Folder | undefined): Promise<void> {
    if (workspace !== undefined) this.sandboxIn(ref, workspace).assertUnused();
    new SqliteView(decodeReference(ref)).remove(this.context.stateDir);
  }

  protected sandboxIn(ref: SandboxRef, workspace: Folder): SqliteSandbox {
    return new SqliteSandbox(this.context.stateDir, workspace, ref);
  }

  protected contentOf(ref: SandboxRef, workspace: Folder): WorkspaceContent {
    return this.sandboxIn(ref, workspace);
  }

  protected hasLandings(ref: SandboxRef, workspace: Folder): boolean {
    return this.#landings(this.sandboxIn(ref, workspace)).ids().length > 0;
  }

  /** The sandbox, with all work of its copy in one file that no program uses. */
  async #openFrozen(ref: SandboxRef): Promise<SqliteSandbox> {
    const sandbox = await this.open(ref);
    try {
      sandbox.freeze();
      return sandbox;
    } catch (thrown) {
      sandbox[Symbol.dispose]();
      throw thrown;
    }
  }

  /** The sandbox as it is, its work landed or not. */
  #inside(ref: SandboxRef): SqliteSandbox {
    return this.sandboxIn(ref, openPlaceOf(ref));
  }

  #landings(sandbox: SqliteSandbox): SqliteLandings {
    return new SqliteLandings(sandbox, this.#locked, this.#patience);
  }
}

function assertTable(db: SqliteDatabase, name: string): void {
  if (db.number("SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?", name) > 0)
    return;
  throw new UsageError(`The database has no table called '${displayPath(name)}'.`, {
    hint: "Reading '.' lists what it has.",
    code: "NO_SUCH_FILE",
  });
}

function linesOf(db: SqliteDatabase, sql: string): Uint8Array {
  const columns = db.columns(sql);
  return Buffer.from([...db.eachRow(sql)].map((row) => `${rowJson(columns, row)}\n`).join(""));
}

/** The landing of a transaction; for an undo, the landing that it takes back. */
function landingOf({ id, undoes }: Transaction): string {
  return undoes === undefined ? id : preparedLanding(undoes.prepared).landing;
}
