import { existsSync } from "node:fs";
import {
  type Attention,
  type Conflict,
  SandboxCommitError,
  SandboxRollbackError,
  type StrategyContext,
} from "drydock-sandbox/strategy";
import type { Bucket } from "./bucket.ts";
import { isThere, type KeyHistory, type KeyState, newerThan, type ObjectVersion } from "./key-history.ts";
import { type LandingRecord, recordOf, type StagedObject, saveRecord } from "./landing-record.ts";
import { keyOf, shownVersion } from "./place.ts";
import type { SandboxFolder } from "./sandbox-folder.ts";
import type { Uploads } from "./uploads.ts";

/** A landed object that is to be taken back. */
export type LandedObject = Omit<StagedObject, "uploadId"> & {
  /** The version that is to go. */
  readonly version: string;
  /** What was beneath it: the newest other version, and the newest delete marker. */
  readonly beneath: { readonly version: string | null; readonly marker: string | null };
};

/** What became of a key, and what a person should know of it. */
export interface Outcome {
  readonly path: string;
  readonly state: KeyState;
  readonly attention: readonly Attention[];
}

/**
 * What changes the bucket: an upload becomes an object, or a version of ours goes, and with it what it had
 * covered is there again. Which version is ours is told by its ETag among those that are newer than what was
 * there when it was prepared: not every server answers a completion with the version.
 *
 * What a process that was killed has sent can take effect at any time after that, and nothing calls it back.
 * But an upload becomes an object only once, and a version is deleted only once. So each is noted before it
 * is asked for, and to take back what may be under way is to have it happen first: the upload is completed
 * here too, and the version that came of it deleted; or the version is deleted here too, and the same lands
 * again. What then arrives late finds no such upload, or no such version.
 */
export class Landing {
  readonly #id: string;
  readonly #folder: SandboxFolder;
  readonly #bucket: Bucket;
  readonly #uploads: Uploads;
  readonly #failpoint: StrategyContext["failpoint"];

  constructor(
    id: string,
    folder: SandboxFolder,
    bucket: Bucket,
    uploads: Uploads,
    failpoint: StrategyContext["failpoint"],
  ) {
    this.#id = id;
    this.#folder = folder;
    this.#bucket = bucket;
    this.#uploads = uploads;
    this.#failpoint = failpoint;
  }

  /**
   * Makes an object of what was staged, unless that has happened. What another writer wrote since it was prepared
   * lies beneath it, and is named.
   */
  async land(object: StagedObject): Promise<Outcome> {
    let history = await this.#complete(object);
    let ours = this.#ours(history, object);
    if (ours === undefined) {
      history = await this.#landAgain(object, object.uploadId);
      ours = this.#ours(history, object);
    }
    if (ours === undefined) throw notLanded(object);
    this.#noteLanded(object, { landed: ours.id });
    const rivals = beneath(newerThan(history, object.before), ours, history.isDeleted);
    const state = { version: ours.id, marker: history.markers[0] ?? null, isDeleted: false, etag: ours.etag };
    return {
      path: object.path,
      state: { ...state, size: ours.size },
      attention: this.#namesOf(object.path, rivals),
    };
  }

  /** Takes a landing back that may have happened. Says the same however often it is called. */
  async takeBack(object: StagedObject | LandingRecord): Promise<Outcome> {
    const key = this.#key(object);
    const { uploadId } = object;
    const record = this.#record(object);
    // Nothing was asked to land: giving the upload up is enough.
    if (
      uploadId === null ||
      record === undefined ||
      (record.isCompleting !== true && record.landed === undefined)
    )
      return { path: object.path, state: object.before, attention: [] };
    const history =
      record.landed === undefined
        ? await this.#complete({ ...object, uploadId })
        : await this.#bucket.history(key);
    const ours = this.#ours(history, object);
    const said = record.takenBack;
    const { versions, markers } = newerThan(history, object.before);
    const rivals = [...versions.map(({ id }) => id), ...markers].filter((id) => id !== ours?.id);
    const attention = said ?? (ours === undefined ? [] : this.#namesOf(object.path, rivals));
    if (ours !== undefined) {
      this.#noteLanded(object, { landed: ours.id, takenBack: attention });
      this.#failpoint("s3.delete-version");
      await this.#bucket.removeVersion(key, ours.id);
    }
    return { path: object.path, state: object.before, attention };
  }

  /**
   * What an undo would delete, or why it can't: it has to be the newest, and what is beneath it still there.
   */
  async findLanded(object: StagedObject): Promise<LandedObject | Conflict> {
    const { path, before, digests, etag } = object;
    const history = await this.#bucket.history(this.#key(object));
    const newer = newerThan(history, before).versions.filter((version) => version.etag === etag);
    const [ours, next] = history.versions;
    if (history.isDeleted || newer.length !== 1 || ours === undefined || newer[0]?.id !== ours.id)
      return { path, why: "another writer changed it since" };
    if (isThere(before) && !history.versions.some(({ id }) => id === before.version))
      return { path, why: "the version from before is gone" };
    const below = { version: next?.id ?? null, marker: history.markers[0] ?? null };
    return { path, before, digests, etag, version: ours.id, beneath: below };
  }

  /** Deletes exactly the version that had landed. */
  async undo(object: LandedObject): Promise<Outcome> {
    const key = this.#key(object);
    this.#note("s3.note-undo", object, { isUndoing: true });
    this.#failpoint("s3.delete-version");
    await this.#bucket.removeVersion(key, object.version);
    return {
      path: object.path,
      state: object.before,
      attention: this.#since(await this.#bucket.history(key), object),
    };
  }

  /** Takes an undo back that may have happened, or happen still: the version goes, the same lands again. */
  async redo(object: LandedObject): Promise<readonly Attention[]> {
    const key = this.#key(object);
    const { landed, isUndoing } = this.#record(object) ?? {};
    if (landed === object.version && isUndoing !== true) return [];
    if (!existsSync(this.#folder.contentFile(this.#id, object.path)))
      throw new SandboxRollbackError(`The content of ${object.path} is gone: the undo can only go on.`);
    this.#failpoint("s3.delete-version");
    await this.#bucket.removeVersion(key, object.version);
    const history = await this.#bucket.history(key);
    const attention = this.#since(history, object);
    if (newerThan(history, object.before).versions.some(({ etag }) => etag === object.etag)) return attention;
    const ours = this.#ours(await this.#landAgain(object), object);
    if (ours === undefined)
      throw new SandboxRollbackError(`${object.path} was uploaded, but there is no such version.`);
    this.#noteLanded(object, { landed: ours.id });
    return attention;
  }

  /**
   * Our upload was given up, or what had come of it deleted: its content is still here. Another try that was
   * cut off is finished first.
   */
  async #landAgain(object: Omit<StagedObject, "uploadId">, tried?: string): Promise<KeyHistory> {
    const { uploadId, landed } = this.#record(object) ?? {};
    if (typeof uploadId === "string" && uploadId !== tried && landed === undefined) {
      const history = await this.#complete({ ...object, uploadId });
      if (this.#ours(history, object) !== undefined) return history;
    }
    return await this.#complete(await this.#uploads.stage(this.#id, object.path, object.before));
  }

  /** Has the upload be over, and returns what is there then. */
  async #complete(object: StagedObject): Promise<KeyHistory> {
    const key = this.#key(object);
    if (this.#record(object)?.isCompleting !== true)
      this.#note("s3.note-completion", object, { isCompleting: true });
    this.#failpoint("s3.complete-upload");
    try {
      await this.#bucket.complete(key, object.uploadId, object.digests);
    } catch (thrown) {
      throw notLanded(object, thrown);
    }
    return await this.#bucket.history(key);
  }

  #ours(history: KeyHistory, object: Omit<StagedObject, "uploadId">): ObjectVersion | undefined {
    const { landed } = this.#record(object) ?? {};
    const same = newerThan(history, object.before).versions.filter(({ etag }) => etag === object.etag);
    return landed === undefined ? same[0] : same.find(({ id }) => id === landed);
  }

  /** What others made on top of what an undo uncovers. */
  #since(history: KeyHistory, { path, beneath: below, etag }: LandedObject): readonly Attention[] {
    const { versions, markers } = newerThan(history, below);
    return this.#namesOf(path, [
      ...versions.filter((each) => each.etag !== etag).map(({ id }) => id),
      ...markers,
    ]);
  }

  #namesOf(path: string, versions: readonly string[]): readonly Attention[] {
    return versions.map((version) => ({
      path,
      message: "another writer changed it in the last moment",
      keptAt: shownVersion(this.#bucket.place, path, version),
    }));
  }

  #record({ path }: { readonly path: string }): LandingRecord | undefined {
    return recordOf(this.#folder, this.#id, path);
  }

  #noteLanded(object: { readonly path: string }, more: Pick<LandingRecord, "landed" | "takenBack">): void {
    this.#note("s3.note-landed", object, more);
  }

  #note(point: string, object: { readonly path: string }, more: Partial<LandingRecord>): void {
    const record = this.#record(object);
    if (record === undefined) return;
    this.#failpoint(point);
    saveRecord(this.#folder, this.#id, { ...record, ...more });
  }

  #key({ path }: { readonly path: string }): string {
    return keyOf(this.#bucket.place, path);
  }
}

function notLanded({ path }: { readonly path: string }, cause?: unknown): SandboxCommitError {
  return new SandboxCommitError(
    `${path} was uploaded, but did not land${cause instanceof Error ? `: ${cause.message}` : "."}`,
    {
      hint: "Check that the bucket can be reached and written to; then 'drydock recover' goes on.",
      cause,
    },
  );
}

/**
 * What is newer than what was there before, and older than ours. A marker above ours is a later deletion, no
 * loss.
 */
function beneath(
  newer: { readonly versions: readonly ObjectVersion[]; readonly markers: readonly string[] },
  ours: ObjectVersion,
  isDeleted: boolean,
): string[] {
  const at = newer.versions.findIndex(({ id }) => id === ours.id);
  return [...newer.versions.slice(at + 1).map(({ id }) => id), ...newer.markers.slice(isDeleted ? 1 : 0)];
}
