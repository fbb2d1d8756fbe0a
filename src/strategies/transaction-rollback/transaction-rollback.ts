import type { Change, DiffView } from "../../core/change.ts";
import {
  SandboxCommitError,
  SandboxStateError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
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
import type { Enterable, Inspectable, Reachable, Tabular } from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import type { ChangedRows, RowRange } from "../../core/values/changed-rows.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { rowJson } from "../../database/common/row-json.ts";
import type { Evidence, TransactionName } from "../../database/server/server-database.ts";
import { parseServerUrl } from "../../database/server/server-url.ts";
import { clientPlace, clientUrl, clientVariables } from "./client/client-place.ts";
import { cannotBeTakenBack, RemoteTransaction } from "./client/remote-transaction.ts";
import { quotedName, statementChanges, targetOf } from "./client/statement-changes.ts";
import { transactionNotes } from "./client/transaction-notes.ts";
import { placesOf } from "./client/transaction-places.ts";

const ONLY_CHECKED =
  "a dry run checks the open transaction and does not prepare it; whether the server can, shows when the plan is applied";
const NO_UNDO = "can't be undone once it has landed";

/**
 * A transaction on a database server (PostgreSQL, MySQL, MariaDB). A holder keeps it open while the plan is
 * open. Work consists of statements; no other session sees it. It lands by the server's own two-phase commit:
 * PREPARE TRANSACTION, XA PREPARE.
 *
 * If the server can't prepare, the ref says so: then the transaction lands in one step, as the last of its
 * plan. A landed transaction can't be taken back.
 */
export class TransactionRollbackStrategy
  implements TwoPhaseSandboxStrategy, Tabular, Inspectable, Reachable, Enterable
{
  readonly name = "transaction_rollback";
  readonly capabilities = {
    commit: "two-phase",
    undo: false,
    checkpoint: true,
    isolation: "transaction",
    strength: builtInStrength("transaction_rollback"),
    resourceTypes: ["postgres-database", "mysql-database"],
    heldTransaction: true,
  } as const;
  readonly #context: StrategyContext;

  constructor(context: StrategyContext) {
    this.#context = context;
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const { location, id: resourceId } = resource;
    parseServerUrl(location);
    const sandboxId = sandboxIdFor(planId, resourceId);
    const ref: SandboxRef = {
      sandboxId,
      planId,
      resourceId,
      strategyName: this.name,
      metadata: { location },
    };
    const remote = this.#remote(ref);
    if (remote.record !== undefined)
      throw new SandboxStateError(`Sandbox ${sandboxId} has been created already.`, {
        from: "CREATED",
        to: "PENDING",
        hint: "Use the one that is there.",
      });
    const places = placesOf(ref, location, remote.place);
    await this.#context.recordIntent(ref, places);
    try {
      const { whyNoPrepare } = await remote.connect();
      const created = whyNoPrepare === undefined ? ref : onePhase(ref, whyNoPrepare);
      if (created !== ref) await this.#context.recordIntent(created, places);
      await remote.open();
      return created;
    } catch (thrown) {
      await remote.remove();
      throw thrown;
    }
  }

  /** The rows of a table, each a line of JSON. */
  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    const { columns, rows } = await this.#remote(ref).ask("table", { table: path });
    return Buffer.from(rows.map((row) => `${rowJson(columns, row)}\n`).join(""));
  }

  /** Runs the statements of a script. */
  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    if (!path.endsWith(".sql"))
      throw new UsageError(`A database can't be written to by '${path}'.`, {
        hint: "Write statements to a name that ends with .sql, or run them by sql.",
      });
    const results = await this.query(ref, Buffer.from(bytes).toString(), { readOnly: false });
    const rows = results.reduce((sum, { changes }) => sum + changes, 0);
    return { path, operation: "modified", kind: "object", rows };
  }

  async query(
    ref: SandboxRef,
    script: string,
    { readOnly }: { readonly readOnly: boolean },
  ): Promise<readonly StatementResult[]> {
    return await this.#remote(ref).ask("run", { script, readOnly });
  }

  /** The statements, with the rows that they touched. */
  async diff(ref: SandboxRef): Promise<DiffView> {
    const remote = this.#remote(ref);
    return {
      changes: remote.record?.state === "landed" ? [] : statementChanges(await remote.ask("log", {})),
    };
  }

  /** The rows that the plan changes in a table: at its name, or at a statement that changes its rows. */
  async changedRows(ref: SandboxRef, path: string, range: RowRange): Promise<ChangedRows> {
    const statement = (await this.diff(ref)).changes.find((change) => change.path === path)?.statement;
    const table = statement === undefined ? quotedName(path) : targetOf(statement);
    if (table === undefined)
      throw new UnsupportedError(`The rows can't be shown: the table of ${path} is not known.`, {
        hint: "Give the name of a table.",
      });
    return await this.#remote(ref).ask("rows", { table, range });
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    const changes = (await this.diff(ref)).changes.length;
    if (changes > 0) await this.#remote(ref).commit();
    return { changes, attention: [] };
  }

  async rollback(ref: SandboxRef): Promise<void> {
    const remote = this.#remote(ref);
    if (remote.record?.state === "landed") throw cannotBeTakenBack(remote.location);
    await remote.startOver();
  }

  async checkpoint(ref: SandboxRef, checkpointId: string): Promise<undefined> {
    await this.#remote(ref).ask("checkpoint", { checkpointId });
  }

  /** The statements before the checkpoint. */
  async saved(ref: SandboxRef, checkpointId: string): Promise<readonly Change[]> {
    return statementChanges(await this.#remote(ref).ask("log", { checkpointId }));
  }

  async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    await this.#remote(ref).ask("restore", { checkpointId });
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    await this.#remote(ref).remove();
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    const remote = this.#remote(ref);
    if (transaction.direction === "undo")
      throw new UnsupportedError(`${remote.location} ${NO_UNDO}.`, {
        hint: "Take it back by hand.",
        code: "IRREVERSIBLE",
      });
    const { length } = (await this.diff(ref)).changes;
    if (length === 0) return null;
    if (transaction.dryRun === true) {
      // Taken back, it would have to be done again, which can give other results.
      await remote.ask("check", {});
      return { changes: length, data: {}, warnings: [ONLY_CHECKED] };
    }
    const { name, evidence } = await remote.prepare(transaction.id);
    return { changes: length, data: { name: { ...name }, evidence: { ...evidence } } };
  }

  async commitPrepared(
    ref: SandboxRef,
    { id }: Transaction,
    { changes, data }: PreparedCommit,
  ): Promise<CommitResult> {
    const remote = this.#remote(ref);
    const { record } = remote;
    if (record?.state === "landed" && record.transactionId === id) return { changes, attention: [] };
    const outcome = await remote.land(
      data["name"] as unknown as TransactionName,
      data["evidence"] as Evidence,
    );
    if (outcome === "rolled back")
      throw new SandboxCommitError(
        `The prepared transaction on ${remote.location} was rolled back by another session.`,
        {
          hint: "Its work is gone. Recover the plan by giving the landing up (abort).",
        },
      );
    remote.noteLanded(id);
    return { changes, attention: outcome === "committed" ? [] : [inDoubt(remote.location)] };
  }

  async rollbackPrepared(
    ref: SandboxRef,
    { id }: Transaction,
    prepared?: PreparedCommit,
  ): Promise<readonly Attention[]> {
    const remote = this.#remote(ref);
    const { record } = remote;
    if (record?.transactionId !== id) return [];
    if (record.state === "landed") throw cannotBeTakenBack(remote.location);
    return record.state === "preparing"
      ? await remote.takeBack((prepared?.data["evidence"] ?? {}) as Evidence)
      : [];
  }

  /** The time when the transaction ends, and what can't be done here. */
  async notes(ref: SandboxRef): Promise<readonly string[]> {
    return await transactionNotes(this.#remote(ref));
  }

  /** The URL by which clients of the server's own protocol work in the transaction. */
  async path(ref: SandboxRef): Promise<string | undefined> {
    const place = await clientPlace(this.#remote(ref));
    return place === undefined ? undefined : clientUrl(place);
  }

  /** Programs see the folder of the socket. */
  async enter(ref: SandboxRef): Promise<ProgramView | undefined> {
    const place = await clientPlace(this.#remote(ref));
    return place === undefined ? undefined : { kind: "place", path: place.folder, atOwnPath: true };
  }

  async leave(): Promise<void> {
    // The holder keeps the socket.
  }

  async environment(ref: SandboxRef): Promise<{ readonly [name: string]: string }> {
    const place = await clientPlace(this.#remote(ref));
    return place === undefined ? {} : clientVariables(place);
  }

  #remote(ref: SandboxRef): RemoteTransaction {
    return new RemoteTransaction(this.#context, ref);
  }
}

/** Marks a sandbox that can commit only in one step. */
function onePhase(ref: SandboxRef, why: string): SandboxRef {
  const metadata = { ...ref.metadata, whyNoPrepare: why };
  return { ...ref, metadata, capabilities: { commit: "one-phase", undo: false } };
}

function inDoubt(location: string): Attention {
  return {
    path: ".",
    message: `it is unknown whether the prepared transaction on ${location} was committed: it is gone, and the server keeps no record; look at the data`,
  };
}
