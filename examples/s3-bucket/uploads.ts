import type { Attention, StrategyContext } from "drydock-sandbox/strategy";
import type { Bucket } from "./bucket.ts";
import { inParallel } from "./in-parallel.ts";
import { isThere, type KeyState } from "./key-history.ts";
import { type LandingRecord, recordsOf, type StagedObject, saveRecord } from "./landing-record.ts";
import { digestsOf, etagOf, partsOf } from "./parts.ts";
import { keyOf } from "./place.ts";
import type { SandboxFolder } from "./sandbox-folder.ts";

/** S3 refuses requests from a clock that differs by more. */
const CLOCKS_DIFFER_MS = 15 * 60_000;

/**
 * Uploads that are begun and not completed: nobody sees them in the bucket. Each is noted on this machine
 * before it is begun, and again when its id is known, before its first part is sent; so one that is not
 * noted, because of a crash in between, has no parts, and was not there before.
 */
export class Uploads {
  readonly #folder: SandboxFolder;
  readonly #bucket: Bucket;
  readonly #context: Pick<StrategyContext, "failpoint" | "now">;
  readonly #limitMs: number;

  constructor(
    folder: SandboxFolder,
    bucket: Bucket,
    context: Pick<StrategyContext, "failpoint" | "now">,
    limitMs: number,
  ) {
    this.#folder = folder;
    this.#bucket = bucket;
    this.#context = context;
    this.#limitMs = limitMs;
  }

  /** Uploads the content that a landing has for a path. */
  async stage(landingId: string, path: string, before: KeyState): Promise<StagedObject> {
    const file = this.#folder.contentFile(landingId, path);
    const [key, digests] = [keyOf(this.#bucket.place, path), await digestsOf(file)];
    const others = (await this.#bucket.uploads(key)).map(({ id }) => id);
    const headers = isThere(before) ? await this.#bucket.headers(key, before.version) : {};
    const object = { path, before, digests, etag: etagOf(digests) };
    const begunAt = this.#context.now().toISOString();
    this.#note(landingId, "s3.note-upload", { ...object, uploadId: null, begunAt, others });
    this.#context.failpoint("s3.begin-upload");
    const uploadId = await this.#bucket.begin(key, headers);
    this.#note(landingId, "s3.note-upload-id", { ...object, uploadId, begunAt, others });
    await this.#send(key, uploadId, file);
    return { ...object, uploadId };
  }

  /** Gives up whatever uploads a landing has begun. What may be ours, or not, is left and returned. */
  async giveUp(landingId: string): Promise<Attention[]> {
    const records = recordsOf(this.#folder, landingId).filter(({ landed }) => landed === undefined);
    return (await inParallel(records, (record) => this.#giveUpOne(record))).flat();
  }

  async #giveUpOne(record: LandingRecord): Promise<Attention[]> {
    const key = keyOf(this.#bucket.place, record.path);
    const ours = record.uploadId === null ? await this.#notNoted(key, record) : [record.uploadId];
    if (ours.length > 1) {
      const message = `one of the uploads ${ours.join(", ")} may be left from an interrupted commit; the others belong to another user`;
      return [{ path: record.path, message }];
    }
    for (const uploadId of ours) {
      this.#context.failpoint("s3.abort-upload");
      await this.#bucket.abort(key, uploadId);
    }
    return [];
  }

  async #notNoted(key: string, { begunAt, others }: LandingRecord): Promise<string[]> {
    const since = (initiated: Date) => Math.abs(initiated.getTime() - Date.parse(begunAt));
    const found = (await this.#bucket.uploads(key)).filter(
      ({ id, initiated }) => !others.includes(id) && since(initiated) < CLOCKS_DIFFER_MS + this.#limitMs,
    );
    const parts = await inParallel(found, ({ id }) => this.#bucket.firstParts(key, id));
    return found.filter((_, at) => parts[at]?.length === 0).map(({ id }) => id);
  }

  async #send(key: string, uploadId: string, file: string): Promise<void> {
    let number = 0;
    for await (const part of partsOf(file)) {
      number += 1;
      this.#context.failpoint("s3.upload-part");
      await this.#bucket.uploadPart(key, uploadId, number, part);
    }
  }

  #note(landingId: string, point: string, record: LandingRecord): void {
    this.#context.failpoint(point);
    saveRecord(this.#folder, landingId, record);
  }
}
