import {
  SandboxCommitError,
  SandboxConflictError,
  StateError,
  UnsupportedError,
} from "../../core/errors/errors.ts";
import type { Attention, PreparedCommit, Transaction } from "../../core/strategy.ts";
import {
  decodeChanges,
  encodeChanges,
  type LandedChanges,
} from "../../database/server/clone/changes-file.ts";
import {
  type CloneChanges,
  type CloneWork,
  countChanges,
  type WayBack,
} from "../../database/server/clone/clone-changes.ts";
import { rowPath } from "../../database/server/clone/row-paths.ts";
import type { Evidence, TransactionName } from "../../database/server/server-database.ts";
import { preparedLanding } from "../../engine/manifest/prepared-landing.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { digestOf } from "../../system/data/digest.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { newId } from "../../system/state/new-id.ts";
import type { Attempt } from "./clone.ts";
import type { CloneSandbox } from "./clone-sandbox.ts";
import { commitAttempt, rollBackAttempt } from "./original-transaction.ts";

/**
 * # The landings of a clone, each in `landings/TRANSACTION` of the workspace
 *
 * - `changes`: what lands, and what takes it back (database/server/clone/changes-file.ts). The journal
 *   has its digest, and an undo reads it.
 * - `attempt`: the transaction on the original, with its session. `undo-TRANSACTION`: that of an undo.
 *   `taking-back`, `taking-back-prepared`: that of a landing which is given up, before and after it is
 *   prepared. `taken-back`: it is, with what others had changed.
 * - `landed`, `undone`: the changes are in the original, or out of it again, for good.
 *
 * The order of writes, each durable:
 *
 * 1. `changes`.
 * 2. `attempt`; then all changes are written to the original in one transaction, and it is prepared.
 * 3. The decision, which is not written here.
 * 4. The commit. Whether it happened, the server tells: by the number of the transaction, or by a mark that
 *    the transaction itself has written there.
 * 5. `landed`. Then the mark goes.
 *
 * After a crash before the decision, the session of the attempt is ended first, so that nothing which the
 * dead process has sent comes later; then what is prepared is rolled back.
 */
const POINTS = {
  create: failpoint("clone.landing"),
  record: failpoint("clone.record"),
  attempt: failpoint("clone.attempt"),
  note: failpoint("clone.note-landed"),
  remove: failpoint("clone.remove-landing"),
};
const LANDINGS = "landings";
const CHANGES = "changes";
const ATTEMPT = "attempt";
const TAKING_BACK = "taking-back";
const TAKEN_BACK = "taken-back";
/** How often rows that others change meanwhile are left out of a landing that is taken back. */
const MOST_TRIES = 5;

/** A transaction that is known to be prepared. */
interface PreparedAttempt {
  readonly name: TransactionName;
  readonly evidence: Evidence;
}

export class CloneLandings {
  readonly #sandbox: CloneSandbox;

  constructor(sandbox: CloneSandbox) {
    this.#sandbox = sandbox;
  }

  /** The ids of all landings, the oldest first. */
  ids(): string[] {
    using landings = this.#sandbox.workspace.openBelowIfThere(LANDINGS);
    return (landings?.names() ?? []).sort();
  }

  /** Records the work, and writes it to the original, ready to be committed. */
  async prepare({ id }: Transaction, work: CloneWork, backward: WayBack): Promise<PreparedCommit> {
    using landings = this.#sandbox.workspace.ensureFolder(POINTS.create, LANDINGS);
    using landing = landings.ensureFolder(POINTS.create, id);
    const bytes = encodeChanges({ forward: work.changes, backward });
    writeWhole(POINTS.record, landing, CHANGES, bytes, "durable");
    const attempt = await this.#attempt(landing, ATTEMPT, work.changes);
    const changes = work.definitions.length + countChanges(work.changes);
    const warnings = "whyNot" in backward ? [this.#lasting(backward.whyNot).message] : [];
    return {
      changes,
      data: { landing: id, digest: digestOf(bytes), ...plain(attempt) },
      ...(warnings.length > 0 && { warnings }),
    };
  }

  /** Writes what was before a landing to the original, ready to be committed. */
  async prepareUndo({ id }: Transaction, undoes: PreparedCommit): Promise<PreparedCommit> {
    using landing = this.#open(undoes);
    const { backward } = this.#changes(landing);
    if ("whyNot" in backward)
      throw new UnsupportedError(
        `The changed definitions of ${this.#sandbox.location} can't be undone: ${backward.whyNot}.`,
        { hint: "Take them back by hand.", code: "IRREVERSIBLE" },
      );
    const attempt = await this.#attempt(landing, `undo-${id}`, backward);
    const { landing: landed, digest } = preparedLanding(undoes);
    return { changes: undoes.changes, data: { landing: landed, digest, ...plain(attempt) } };
  }

  /** Commits what was prepared, in any process and any number of times. */
  async commit({ direction }: Transaction, prepared: PreparedCommit): Promise<readonly Attention[]> {
    using landing = this.#open(prepared);
    const note = direction === "undo" ? "undone" : "landed";
    if (landing.facts(note) !== undefined) {
      await this.#forget();
      return [];
    }
    const outcome = await this.#commit(attemptIn(prepared));
    writeWhole(POINTS.note, landing, note, Buffer.alloc(0), "durable");
    await this.#forget();
    const { backward } = this.#changes(landing);
    const lasting = direction === "commit" && "whyNot" in backward ? [this.#lasting(backward.whyNot)] : [];
    return outcome === "committed" ? lasting : [...lasting, inDoubt(this.#sandbox.location)];
  }

  /** Takes back what was prepared or, if a person gives it up, landed. */
  async giveUp(
    { id, undoes }: Transaction,
    prepared: PreparedCommit | undefined,
  ): Promise<readonly Attention[]> {
    const landingId = undoes === undefined ? id : preparedLanding(undoes.prepared).landing;
    using landing = this.#sandbox.workspace.openBelowIfThere(`${LANDINGS}/${landingId}`);
    if (landing === undefined) return [];
    const file = undoes === undefined ? ATTEMPT : `undo-${id}`;
    const outcome = await this.#rollBack(landing, file, prepared);
    if (undoes !== undefined) {
      await this.#forget();
      removeTree(POINTS.remove, landing, file);
      return [];
    }
    const hasLanded = outcome === "committed" || landing.facts("landed") !== undefined;
    if (hasLanded) return await this.#takeBack(landing, "yield");
    await this.#forget();
    return [];
  }

  /** Takes back what has landed, if anything has. Fails if another session has changed it since. */
  async takeBack(id: string): Promise<void> {
    using landing = this.#sandbox.workspace.openBelow(`${LANDINGS}/${id}`);
    if (landing.facts("undone") === undefined) {
      if (landing.facts("landed") !== undefined) await this.#takeBack(landing, "refuse");
      else await this.#rollBack(landing, ATTEMPT, undefined);
    }
    this.remove(id);
  }

  /** What a landing changed. */
  landed(prepared: PreparedCommit): CloneChanges {
    using landing = this.#open(prepared);
    return this.#changes(landing).forward;
  }

  remove(id: string): void {
    using landings = this.#sandbox.workspace.openBelowIfThere(LANDINGS);
    if (landings !== undefined) removeTree(POINTS.remove, landings, id);
  }

  /** What no undo brings back. */
  #lasting(why: string): Attention {
    return { path: ".", message: `the definitions that changed can't be undone: ${why}` };
  }

  async #attempt(landing: Folder, file: string, changes: CloneChanges): Promise<PreparedAttempt> {
    const { planId, resourceId } = this.#sandbox.ref;
    const name = { planId, resourceId, serial: newId().slice(-10) };
    const evidence = await this.#sandbox.dialect.prepareChanges(
      this.#sandbox.login,
      name,
      changes,
      (attempt) => writeWhole(POINTS.attempt, landing, file, Buffer.from(JSON.stringify(attempt)), "durable"),
    );
    return { name, evidence };
  }

  async #commit({ name, evidence }: PreparedAttempt): Promise<"committed" | "unknown"> {
    const outcome = await commitAttempt(this.#sandbox.login, name, evidence);
    if (outcome === "committed" || outcome === "unknown") return outcome;
    throw new SandboxCommitError(
      `The prepared transaction on ${this.#sandbox.location} was rolled back by another session.`,
      { hint: "The work is still in the clone. Recover the plan by giving the landing up (abort)." },
    );
  }

  async #rollBack(landing: Folder, file: string, prepared: PreparedCommit | undefined) {
    const bytes = readWhole(landing, file);
    const attempt = bytes === undefined ? undefined : parsed<Attempt>(bytes);
    // Without a record, nothing was sent to the original.
    if (attempt === undefined) return "rolled back";
    const evidence = prepared === undefined ? {} : attemptIn(prepared).evidence;
    return await rollBackAttempt(this.#sandbox.login, attempt, evidence);
  }

  /** With "yield", rows that other sessions have changed since stay as they are. */
  async #takeBack(landing: Folder, others: "yield" | "refuse"): Promise<readonly Attention[]> {
    const done = readWhole(landing, TAKEN_BACK);
    if (done !== undefined) {
      await this.#forget();
      return parsed<Attention[]>(done) ?? [];
    }
    const kept = await this.#takeBackOnce(landing, others);
    writeWhole(POINTS.note, landing, TAKEN_BACK, Buffer.from(JSON.stringify(kept)), "durable");
    await this.#forget();
    return kept;
  }

  async #takeBackOnce(landing: Folder, others: "yield" | "refuse"): Promise<readonly Attention[]> {
    const known = readWhole(landing, `${TAKING_BACK}-prepared`);
    const earlier = known === undefined ? undefined : parsed<PreparedAttempt & { kept: Attention[] }>(known);
    if (earlier !== undefined) {
      const outcome = await commitAttempt(this.#sandbox.login, earlier.name, earlier.evidence);
      if (outcome === "committed") return earlier.kept;
    }
    await this.#rollBack(landing, TAKING_BACK, undefined);
    const { backward } = this.#changes(landing);
    if ("whyNot" in backward)
      throw new UnsupportedError(
        `The changed definitions of ${this.#sandbox.location} can't be taken back: ${backward.whyNot}.`,
        { hint: "Take them back by hand.", code: "IRREVERSIBLE" },
      );
    const kept: Attention[] = [];
    for (let tries = 1, changes = backward; ; tries += 1) {
      try {
        const attempt = await this.#attempt(landing, TAKING_BACK, changes);
        const record = Buffer.from(JSON.stringify({ ...attempt, kept }));
        writeWhole(POINTS.attempt, landing, `${TAKING_BACK}-prepared`, record, "durable");
        await this.#commit(attempt);
        return kept;
      } catch (thrown) {
        if (others === "refuse" || tries === MOST_TRIES || !(thrown instanceof SandboxConflictError))
          throw thrown;
        const paths = new Set(thrown.conflicts.map(({ path }) => path));
        kept.push(
          ...thrown.conflicts.map(({ path, why }) => ({ path, message: `${why}; it stays as it is` })),
        );
        changes = withoutRows(changes, paths);
      }
    }
  }

  async #forget(): Promise<void> {
    await this.#sandbox.dialect.forget(this.#sandbox.login, this.#sandbox.ref);
  }

  #changes(landing: Folder): LandedChanges {
    return decodeChanges(readWhole(landing, CHANGES) ?? Buffer.alloc(0));
  }

  #open(prepared: PreparedCommit): Folder {
    const { landing: id, digest } = preparedLanding(prepared);
    const landing = this.#sandbox.workspace.openBelowIfThere(`${LANDINGS}/${id}`);
    const bytes = landing === undefined ? undefined : readWhole(landing, CHANGES);
    if (landing !== undefined && bytes !== undefined && digestOf(bytes) === digest) return landing;
    landing?.close();
    throw new StateError(`The record of what landed in ${this.#sandbox.location} is missing or damaged.`, {
      hint: "Nothing was changed. Take the changes back by hand.",
    });
  }
}

function withoutRows(changes: CloneChanges, paths: ReadonlySet<string>): CloneChanges {
  const tables = changes.tables.map((table) => ({
    ...table,
    rows: table.rows.filter((row) => !paths.has(rowPath(table, row))),
  }));
  return { ...changes, tables };
}

function plain({ name, evidence }: PreparedAttempt) {
  return { name: { ...name }, evidence: { ...evidence } };
}

function attemptIn({ data }: PreparedCommit): PreparedAttempt {
  return {
    name: data["name"] as unknown as TransactionName,
    evidence: data["evidence"] as Evidence,
  };
}

function inDoubt(location: string): Attention {
  return {
    path: ".",
    message: `it is unknown whether the prepared transaction on ${location} was committed: it is gone, and the server keeps no record; look at the data`,
  };
}
