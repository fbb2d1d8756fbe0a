import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import type { Change, DiffView } from "../../core/change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import {
  hintOf,
  InterruptedError,
  messageOf,
  SandboxCreationError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { Resource } from "../../core/resource/resource.ts";
import { type SandboxRef, sandboxIdFor } from "../../core/sandbox.ts";
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
import type { StatementResult } from "../../core/values/query.ts";
import { rowJson } from "../../database/common/row-json.ts";
import { type Patience, quoted, type SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import {
  beginRestore,
  finishRestore,
  removeCheckpoint,
  saveUnlessSame,
} from "../../engine/checkpoint/tree-checkpoints.ts";
import {
  assertSameBoot,
  notRolledBack,
  openPlaceOf,
  placeOf,
} from "../../engine/sandbox/sandbox-reference.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { LongWork } from "../../engine/work/long-work.ts";
import { removeUnfinished } from "../../engine/workspace/unfinished-workspace.ts";
import {
  makeWorkspace,
  openWorkspace,
  removeWorkspace,
  type WorkspacePlace,
} from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { failpoint } from "../../system/failpoints.ts";
import { commitAlone } from "../folder/commit-alone.ts";
import { bringBack, saveCheckpoint, stateOf } from "./sqlite-checkpoints.ts";
import { sqliteDiff } from "./sqlite-diff.ts";
import { type LockedOriginals, SqliteLandings } from "./sqlite-landings.ts";
import { SqliteSandbox } from "./sqlite-sandbox.ts";
import { databaseKind, notADatabase } from "./sqlite-source.ts";
import { SqliteView, viewFolder } from "./sqlite-view.ts";

const TRIM = failpoint("sqlite.cleanup");
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
export class SqliteSnapshotStrategy implements TwoPhaseSandboxStrategy {
  readonly name = "snapshot";
  readonly capabilities: TwoPhaseCapabilities = {
    commit: "two-phase",
    undo: true,
    checkpoint: true,
    isolation: "copy",
    strength: builtInStrength("snapshot"),
    resourceTypes: ["sqlite-database"],
  };
  readonly #context: StrategyContext;
  readonly #work: LongWork;
  readonly #patience: Patience;
  readonly #locked: LockedOriginals = new Map();

  constructor(context: StrategyContext, options: SqliteSnapshotOptions = {}) {
    this.#context = context;
    this.#work = new LongWork(context);
    this.#patience = { limitMs: options.waitMs ?? DEFAULT_WAIT_MS, signal: context.signal };
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

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const sandboxId = sandboxIdFor(planId, resource.id);
    const { stateDir } = this.#context;
    removeUnfinished(stateDir, sandboxId, (found) =>
      ["made", "landings"].some((name) => found.facts(name) !== undefined),
    );
    const place: WorkspacePlace = { path: `${stateDir}/sandboxes/${sandboxId}`, placement: "state" };
    const [root, only] = [parentPath(resource.location), baseName(resource.location)];
    const view = viewFolder(this.#context.stateDir, planId, root);
    const metadata = {
      workspace: place.path,
      placement: place.placement,
      root,
      only,
      location: resource.location,
      view,
      path: `${view}/own/${only}`,
    };
    const ids = { sandboxId, planId, resourceId: resource.id };
    const ref: SandboxRef = { ...ids, strategyName: this.name, metadata };
    await this.#context.recordIntent(
      ref,
      [place.path, view].map((location) => ({ kind: "folder", location })),
    );
    try {
      using workspace = makeWorkspace(this.#context.stateDir, sandboxId, place);
      await this.#sandbox(workspace, ref).make(this.#patience);
      return ref;
    } catch (thrown) {
      new SqliteView(ref).remove(this.#context.stateDir);
      removeWorkspace(this.#context.stateDir, sandboxId, place);
      if (thrown instanceof InterruptedError) throw thrown;
      throw new SandboxCreationError(
        `No sandbox of ${displayPath(resource.location)} could be made: ${messageOf(thrown)}`,
        {
          cause: thrown,
          hint: hintOf(thrown) ?? "Nothing was changed. Remove the cause and try again.",
        },
      );
    }
  }

  /** The rows of a table or view as lines of JSON; for "." the whole schema. */
  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    return await this.#using(ref, async (sandbox) => {
      using db = sandbox.open();
      if (path === ROOT_PATH)
        return linesOf(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid");
      assertTable(db, path);
      return linesOf(db, `SELECT * FROM main.${quoted(path)}`);
    });
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
    return await this.#using(ref, async (sandbox) => {
      using db = sandbox.open();
      // No flush here: the copy itself is not flushed yet, and a sandbox does not outlive a restart of the
      // machine.
      db.exec("PRAGMA synchronous = OFF");
      db.confine(readOnly);
      return await db.run(script);
    });
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    return await this.#using(ref, async (sandbox) => {
      using db = sandbox.openWithBase();
      return sqliteDiff(db, sandbox.basePath);
    });
  }

  async path(ref: SandboxRef): Promise<string> {
    return await this.#using(ref, async (sandbox) => sandbox.path);
  }

  async enter(ref: SandboxRef): Promise<ProgramView> {
    return await this.#using(ref, async (sandbox) => {
      // A program that has the copy open by its path holds locks that a command inside would not see.
      if (sandbox.view.inside() === undefined) sandbox.freeze();
      return sandbox.view.show();
    });
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (transaction.undoes !== undefined) {
      const { prepared } = transaction.undoes;
      return await this.#inWorkspace(ref, (sandbox) =>
        this.#landings(sandbox).prepareUndo(transaction, prepared),
      );
    }
    // Only an old reference, which does not say that a database has no parts, gets this far.
    if (transaction.only !== undefined)
      throw new UnsupportedError("A database can't land in parts.", { hint: "Apply the plan as a whole." });
    return await this.#using(ref, async (sandbox) => {
      sandbox.freeze();
      if (transaction.afterRestart !== true) assertSameBoot(sandbox);
      return await this.#landings(sandbox).prepare(transaction);
    });
  }

  async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    return await this.#inWorkspace(ref, async (sandbox) => {
      if (sandbox.isFinished) sandbox.markStale();
      await this.#landings(sandbox).commit(transaction, prepared);
      return { changes: prepared.changes, attention: [] };
    });
  }

  async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]> {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace === undefined) return [];
    const sandbox = this.#sandbox(workspace, ref);
    const landings = this.#landings(sandbox);
    landings.releaseOriginal(transaction.id);
    await landings.removeDeadJournal(landingOf(transaction));
    if (transaction.undoes !== undefined || !landings.ids().includes(transaction.id)) return [];
    return await landings.giveUp(transaction.id, () => sandbox.markFresh());
  }

  async discardUndo(ref: SandboxRef, _transaction: Transaction, prepared: PreparedCommit): Promise<void> {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace !== undefined) this.#landings(this.#sandbox(workspace, ref)).discard(prepared);
    this.#removeIfEmpty(ref, workspace);
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    return await commitAlone(this, ref);
  }

  async rollback(ref: SandboxRef): Promise<void> {
    await this.#inWorkspace(ref, async (sandbox) => {
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
    });
  }

  async checkpoint(ref: SandboxRef, checkpointId: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    return await this.#using(ref, async (sandbox) => {
      sandbox.freeze();
      return await saveUnlessSame(sandbox.workspace, checkpointId, last, stateOf(sandbox), () =>
        this.#work.run("saving", saveCheckpoint(sandbox, checkpointId)),
      );
    });
  }

  /** Replaces an earlier restore that failed or was cut off. */
  async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    await this.#inWorkspace(ref, async (sandbox) => {
      sandbox.assertUnused();
      beginRestore(sandbox.workspace, checkpointId);
      await this.#finishRestore(sandbox);
    });
  }

  async discardCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace !== undefined) removeCheckpoint(workspace, checkpointId);
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace !== undefined) this.#sandbox(workspace, ref).assertUnused();
    new SqliteView(ref).remove(this.#context.stateDir);
    for (const name of workspace?.names() ?? [])
      if (workspace !== undefined && name !== "landings") removeTree(TRIM, workspace, name);
    this.#removeIfEmpty(ref, workspace);
  }

  #sandbox(workspace: Folder, ref: SandboxRef): SqliteSandbox {
    return new SqliteSandbox(this.#context.stateDir, workspace, ref);
  }

  #landings(sandbox: SqliteSandbox): SqliteLandings {
    return new SqliteLandings(sandbox, this.#locked, this.#patience);
  }

  /** An undo record needs the workspace. */
  #removeIfEmpty(ref: SandboxRef, workspace: Folder | undefined): void {
    const sandbox = workspace === undefined ? undefined : this.#sandbox(workspace, ref);
    if (sandbox !== undefined && (sandbox.isFinished || this.#landings(sandbox).ids().length > 0)) return;
    removeWorkspace(this.#context.stateDir, ref.sandboxId, placeOf(ref));
  }

  /** Runs the action with a usable sandbox. Rebuilds it first if its work has landed. */
  async #using<T>(ref: SandboxRef, action: (sandbox: SqliteSandbox) => Promise<T>): Promise<T> {
    return await this.#inWorkspace(ref, async (sandbox) => {
      if (sandbox.isStale) await sandbox.make(this.#patience);
      await this.#finishRestore(sandbox);
      return await action(sandbox);
    });
  }

  async #finishRestore(sandbox: SqliteSandbox): Promise<void> {
    await finishRestore(sandbox.workspace, (checkpoint) =>
      this.#work.run("restoring", bringBack(sandbox, checkpoint)),
    );
  }

  async #inWorkspace<T>(ref: SandboxRef, action: (sandbox: SqliteSandbox) => Promise<T>): Promise<T> {
    using workspace = openPlaceOf(ref);
    return await action(this.#sandbox(workspace, ref));
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
  return undoes === undefined ? id : String(undoes.prepared.data["landing"]);
}
