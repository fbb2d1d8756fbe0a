import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Attention,
  type Change,
  type CommitResult,
  type DiffView,
  type PreparedCommit,
  type ProbeResult,
  type Probing,
  type Resource,
  SandboxConflictError,
  SandboxCreationError,
  SandboxStateError,
  type SavedCheckpoint,
  type StrategyContext,
  sandboxIdFor,
  type Transaction,
  type TwoPhaseCapabilities,
  type TwoPhaseSandboxStrategy,
  UsageError,
} from "drydock-sandbox/strategy";
import { Bucket } from "./bucket.ts";
import { inParallel } from "./in-parallel.ts";
import { isSame, isThere, type KeyState, NO_HISTORY, stateOf } from "./key-history.ts";
import { type LandedObject, Landing, type Outcome } from "./landing.ts";
import { recordsOf, type StagedObject } from "./landing-record.ts";
import { hasContentOf } from "./parts.ts";
import { keyOf, pathOf, placeOf } from "./place.ts";
import { OPTIONS_SCHEMA, S3Access, type S3Options } from "./s3-access.ts";
import { type BucketRef, SandboxFolder } from "./sandbox-folder.ts";
import { Uploads } from "./uploads.ts";

/** What prepare says to commitPrepared: what is to land, or for an undo what has landed. */
type Prepared = { readonly objects: readonly (StagedObject | LandedObject)[] };

/**
 * A versioned S3 bucket, or what is below a prefix in it. A sandbox is local (sandbox-folder.ts): what is
 * written stays here, what is not is read from the versions that were current when the sandbox was made.
 * Prepare uploads what was written without completing the uploads (uploads.ts); completing them is the
 * commit, and deleting the versions that came of it the undo (landing.ts).
 */
export class S3BucketStrategy implements TwoPhaseSandboxStrategy<BucketRef["metadata"], Prepared>, Probing {
  static readonly optionsSchema = OPTIONS_SCHEMA;
  readonly name = "s3_bucket";
  readonly version = "1";
  readonly capabilities: TwoPhaseCapabilities = {
    commit: "two-phase",
    undo: true,
    resourceTypes: ["s3-bucket"],
  };
  readonly #context: StrategyContext;
  readonly #access: S3Access;

  constructor(context: StrategyContext, options: S3Options) {
    this.#context = context;
    this.#access = new S3Access(options, context.environment ?? process.env);
  }

  async probe(resource: Resource): Promise<ProbeResult> {
    const reason = await this.#looking(resource.location).whyNot();
    return reason === undefined ? { works: true } : { works: false, reason };
  }

  async create(planId: string, resource: Resource): Promise<BucketRef> {
    const sandboxId = sandboxIdFor(planId, resource.id);
    const metadata = {
      folder: join(this.#context.stateDir, "s3-buckets", sandboxId),
      location: resource.location,
    };
    const ref = { sandboxId, planId, resourceId: resource.id, strategyName: this.name, metadata };
    const folder = this.#folder(ref);
    if (folder.isWhole)
      throw new SandboxStateError(`${sandboxId} is there already.`, { from: "CREATED", to: "PENDING" });
    const reason = await this.#looking(resource.location).whyNot();
    if (reason !== undefined) throw new SandboxCreationError(`There can be no sandbox of it: ${reason}.`);
    await this.#context.recordIntent(ref, [{ kind: "folder", location: folder.path }]);
    folder.make();
    folder.saveBase(await this.#snapshot(ref));
    return ref;
  }

  async read(ref: BucketRef, path: string): Promise<Uint8Array> {
    keyOf(placeIn(ref), path);
    const written = this.#folder(ref).writtenFile(path);
    const found = written === undefined ? await this.readOriginal(ref, path) : await readFile(written);
    if (found !== undefined) return found;
    throw new UsageError(`There is no object ${path}, or the version that the plan began with is gone.`, {
      hint: "See what is in the bucket; a new plan begins with what is there now.",
      code: "NO_SUCH_FILE",
    });
  }

  async readOriginal(ref: BucketRef, path: string): Promise<Uint8Array | undefined> {
    const state = this.#folder(ref).base[path];
    return isThere(state)
      ? await this.#looking(locationIn(ref)).read(keyOf(placeIn(ref), path), state.version)
      : undefined;
  }

  async write(ref: BucketRef, path: string, bytes: Uint8Array): Promise<Change> {
    keyOf(placeIn(ref), path);
    const folder = this.#folder(ref);
    const wasThere = folder.writtenFile(path) !== undefined || isThere(folder.base[path]);
    folder.write(path, bytes);
    return {
      path,
      operation: wasThere ? "modified" : "added",
      kind: "object",
      after: { size: bytes.length },
    };
  }

  async diff(ref: BucketRef): Promise<DiffView> {
    const folder = this.#folder(ref);
    const base = folder.base;
    const changes: Change[] = [];
    for (const path of folder.written()) {
      const [state, file] = [base[path], folder.writtenFile(path) ?? ""];
      if (!isThere(state)) changes.push({ path, operation: "added", kind: "object" });
      else if (!(await hasContentOf(file, state)))
        changes.push({ path, operation: "modified", kind: "object", before: { size: state.size } });
    }
    return { changes };
  }

  async commit(ref: BucketRef): Promise<CommitResult> {
    const id = `alone-${this.#context.now().getTime()}-${crypto.randomUUID()}`;
    const transaction: Transaction<Prepared> = { id, planId: ref.planId, direction: "commit" };
    const prepared = await this.#prepareOrGiveUp(ref, transaction);
    return prepared === null
      ? { changes: 0, attention: [] }
      : await this.commitPrepared(ref, transaction, prepared);
  }

  async rollback(ref: BucketRef): Promise<void> {
    const folder = this.#folder(ref);
    if (!folder.isWhole) return;
    const landings = folder.landingIds().map((id) => ({ id, records: recordsOf(folder, id) }));
    const newestFirst = landings.toSorted((one, other) =>
      begunAt(other.records).localeCompare(begunAt(one.records)),
    );
    for (const { id, records } of newestFirst) {
      await inParallel(records, (record) => this.#landing(ref, id).takeBack(record));
      await this.#uploads(ref).giveUp(id);
      this.#forgetWhatIsOver(ref, id);
    }
    folder.forgetWork();
    folder.saveBase(await this.#snapshot(ref));
  }

  async checkpoint(ref: BucketRef, checkpointId: string): Promise<SavedCheckpoint> {
    return { bytes: this.#folder(ref).save(checkpointId) };
  }

  async restoreCheckpoint(ref: BucketRef, checkpointId: string): Promise<void> {
    this.#folder(ref).restore(checkpointId);
  }

  async discardCheckpoint(ref: BucketRef, checkpointId: string): Promise<void> {
    this.#folder(ref).discard(checkpointId);
  }

  async cleanup(ref: BucketRef): Promise<void> {
    const folder = this.#folder(ref);
    for (const id of folder.landingIds()) {
      await this.#uploads(ref).giveUp(id);
      if (
        recordsOf(folder, id).some(({ landed, takenBack }) => landed !== undefined && takenBack === undefined)
      )
        folder.keepLanding(id);
    }
    folder.remove();
  }

  async discardUndo(ref: BucketRef, { id }: Transaction<Prepared>): Promise<void> {
    this.#folder(ref).forgetLanding(id);
    this.#folder(ref).removeIfEmpty();
  }

  async prepare(
    ref: BucketRef,
    transaction: Transaction<Prepared>,
  ): Promise<PreparedCommit<Prepared> | null> {
    if (transaction.undoes !== undefined) return await this.#prepareUndo(ref, transaction.undoes);
    const folder = this.#folder(ref);
    const { changes } = await this.diff(ref);
    if (changes.length === 0) return null;
    await this.#uploads(ref).giveUp(transaction.id);
    const states = await this.#unchanged(ref, changes);
    for (const { path } of changes) folder.pin(path, transaction.id);
    const uploads = this.#uploads(ref, this.#context.signal);
    const objects = await inParallel(states, ({ path, state }) => uploads.stage(transaction.id, path, state));
    return { changes: objects.length, data: { objects } };
  }

  async commitPrepared(
    ref: BucketRef,
    { id, undoes }: Transaction<Prepared>,
    prepared: PreparedCommit<Prepared>,
  ): Promise<CommitResult> {
    const landing = this.#landing(ref, undoes?.id ?? id);
    const outcomes =
      undoes === undefined
        ? await inParallel(stagedIn(prepared), (object) => landing.land(object))
        : await inParallel(landedIn(prepared), (object) => landing.undo(object));
    this.#rebase(ref, outcomes);
    return { changes: prepared.changes, attention: outcomes.flatMap(({ attention }) => attention) };
  }

  async rollbackPrepared(
    ref: BucketRef,
    { id, undoes }: Transaction<Prepared>,
    prepared?: PreparedCommit<Prepared>,
  ): Promise<readonly Attention[]> {
    const landing = this.#landing(ref, undoes?.id ?? id);
    if (undoes !== undefined)
      return prepared === undefined
        ? []
        : (await inParallel(landedIn(prepared), (each) => landing.redo(each))).flat();
    const staged = prepared === undefined ? [] : stagedIn(prepared);
    const outcomes = await inParallel(staged, (object) => landing.takeBack(object));
    this.#rebase(ref, outcomes);
    const attention = [
      ...outcomes.flatMap((each) => each.attention),
      ...(await this.#uploads(ref).giveUp(id)),
    ];
    // Asked again, it has to know what it gave up and what it said: that goes with the sandbox.
    if (prepared === undefined && attention.length === 0) this.#forgetWhatIsOver(ref, id);
    return attention;
  }

  /** The beginning of an upload whose id nobody knows may still arrive: cleanup looks for it again. */
  #forgetWhatIsOver(ref: BucketRef, landingId: string): void {
    const folder = this.#folder(ref);
    if (recordsOf(folder, landingId).every(({ uploadId }) => uploadId !== null))
      folder.forgetLanding(landingId);
  }

  async #prepareOrGiveUp(
    ref: BucketRef,
    transaction: Transaction<Prepared>,
  ): Promise<PreparedCommit<Prepared> | null> {
    try {
      return await this.prepare(ref, transaction);
    } catch (thrown) {
      await this.rollbackPrepared(ref, transaction);
      throw thrown;
    }
  }

  /** What an undo deletes. It may be long after the sandbox has gone. */
  async #prepareUndo(
    ref: BucketRef,
    { id, prepared }: NonNullable<Transaction<Prepared>["undoes"]>,
  ): Promise<PreparedCommit<Prepared>> {
    const landing = this.#landing(ref, id);
    const found = await inParallel(stagedIn(prepared), (object) => landing.findLanded(object));
    const conflicts = found.filter((each) => "why" in each);
    if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
    return { changes: found.length, data: { objects: found.filter((each) => "version" in each) } };
  }

  /** What the bucket holds where there are changes. All that others changed meanwhile are conflicts. */
  async #unchanged(ref: BucketRef, changes: readonly Change[]) {
    const [bucket, base] = [this.#looking(locationIn(ref)), this.#folder(ref).base];
    const states = await inParallel(changes, async ({ path }) => {
      const state = stateOf(await bucket.history(keyOf(bucket.place, path)));
      return { path, state, isConflict: !isSame(state, base[path] ?? stateOf(NO_HISTORY)) };
    });
    const conflicts = states.filter(({ isConflict }) => isConflict);
    if (conflicts.length === 0) return states;
    throw new SandboxConflictError(conflicts.map(({ path, state }) => ({ path, why: whyNot(state) })));
  }

  async #snapshot(ref: BucketRef): Promise<{ readonly [path: string]: KeyState }> {
    const bucket = this.#looking(locationIn(ref));
    const base: { [path: string]: KeyState } = {};
    for (const [key, history] of await bucket.histories(bucket.place.prefix)) {
      const path = pathOf(bucket.place, key);
      if (path !== undefined) base[path] = stateOf(history);
    }
    return base;
  }

  /** The sandbox goes on from what has landed, or was taken back, if it is still there. */
  #rebase(ref: BucketRef, outcomes: readonly Outcome[]): void {
    const folder = this.#folder(ref);
    if (!folder.isWhole || outcomes.length === 0) return;
    folder.saveBase({
      ...folder.base,
      ...Object.fromEntries(outcomes.map(({ path, state }) => [path, state])),
    });
  }

  #folder(ref: BucketRef): SandboxFolder {
    return new SandboxFolder(ref, this.#context.failpoint);
  }

  /** For what the user may interrupt. */
  #looking(location: string): Bucket {
    return new Bucket(placeOf(location), this.#access, this.#context.signal);
  }

  #uploads(ref: BucketRef, signal?: AbortSignal): Uploads {
    const bucket = new Bucket(placeIn(ref), this.#access, signal);
    return new Uploads(this.#folder(ref), bucket, this.#context, this.#access.limitMs);
  }

  #landing(ref: BucketRef, id: string): Landing {
    const bucket = new Bucket(placeIn(ref), this.#access);
    return new Landing(id, this.#folder(ref), bucket, this.#uploads(ref), this.#context.failpoint);
  }
}

function locationIn(ref: BucketRef): string {
  return ref.metadata.location;
}

function placeIn(ref: BucketRef) {
  return placeOf(locationIn(ref));
}

function stagedIn({ data }: PreparedCommit<Prepared>): readonly StagedObject[] {
  return data.objects as readonly StagedObject[];
}

function landedIn({ data }: PreparedCommit<Prepared>): readonly LandedObject[] {
  return data.objects as readonly LandedObject[];
}

function begunAt(records: readonly { readonly begunAt: string }[]): string {
  return records[0]?.begunAt ?? "";
}

function whyNot(state: KeyState): string {
  return isThere(state) ? "another writer wrote it meanwhile" : "another writer deleted it meanwhile";
}
