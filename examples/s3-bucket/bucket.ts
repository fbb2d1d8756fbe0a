import { setTimeout as sleep } from "node:timers/promises";
import type {
  CreateMultipartUploadCommandInput,
  ListMultipartUploadsCommandOutput,
  ListObjectVersionsCommandInput,
  ListObjectVersionsCommandOutput,
  S3,
} from "@aws-sdk/client-s3";
import { DrydockError, InterruptedError } from "drydock-sandbox/strategy";
import { type KeyHistory, NO_HISTORY } from "./key-history.ts";
import { md5 } from "./parts.ts";
import type { Place } from "./place.ts";
import type { S3Access } from "./s3-access.ts";

/**
 * How an object is stored and served, besides its content: what an upload over it has to say again, because a
 * new version inherits nothing.
 */
export type ObjectHeaders = Pick<
  CreateMultipartUploadCommandInput,
  | "ContentType"
  | "CacheControl"
  | "ContentDisposition"
  | "ContentEncoding"
  | "ContentLanguage"
  | "Metadata"
  | "StorageClass"
  | "WebsiteRedirectLocation"
>;

export interface BegunUpload {
  readonly id: string;
  readonly initiated: Date;
}

/** A request that S3 refused, or that did not end in time. */
export class BucketError extends DrydockError {
  /** Whether the server may answer the same request otherwise in a moment. */
  readonly mayPass: boolean;

  constructor(what: string, { cause }: { readonly cause: unknown }) {
    const { name, message, $metadata } = cause as Error & {
      readonly $metadata?: { readonly httpStatusCode?: number };
    };
    const said = [name, message].filter((text) => text !== "UnknownError").join(": ");
    const status = $metadata?.httpStatusCode === undefined ? "" : ` (HTTP ${$metadata.httpStatusCode})`;
    super("STRATEGY", `${what}: ${said}${status}`, {
      hint: "Check the endpoint, the keys, and what they may do.",
      cause,
    });
    this.mayPass = $metadata?.httpStatusCode === 409 || ($metadata?.httpStatusCode ?? 0) >= 500;
  }
}

/** How often a request is sent again when the server is busy, where that does no harm. */
const ATTEMPTS = 3;
const LOOK_AGAIN_MS = 200;

/**
 * The requests that the strategy makes, each bounded in time. What is not there is said so, everything else
 * is thrown.
 */
export class Bucket {
  readonly place: Place;
  readonly #access: S3Access;
  readonly #signal: AbortSignal | undefined;

  /** With a signal, its requests can be interrupted. */
  constructor(place: Place, access: S3Access, signal?: AbortSignal) {
    this.place = place;
    this.#access = access;
    this.#signal = signal;
  }

  /** Why it can't be used; undefined if it can. */
  async whyNot(): Promise<string | undefined> {
    const { bucket: Bucket } = this.place;
    const found = await this.#ask(`Looking at s3://${Bucket}`, ["NoSuchBucket"], async (s3, options) =>
      s3.getBucketVersioning({ Bucket }, options),
    );
    if (found === undefined) return `there is no bucket ${Bucket}`;
    if (found.Status === "Enabled") return undefined;
    return `bucket ${Bucket} keeps no versions, and without them nothing could be taken back; turn versioning on`;
  }

  /** Every key that begins like that, with its history. */
  async histories(prefix: string): Promise<Map<string, KeyHistory>> {
    const found = new Map<string, KeyHistory>();
    for await (const page of this.#versionPages(prefix)) addPage(found, page);
    return found;
  }

  /** The history of one key. It comes first among those that begin like it. */
  async history(key: string): Promise<KeyHistory> {
    const found = new Map<string, KeyHistory>();
    for await (const page of this.#versionPages(key)) {
      addPage(found, page);
      if (page.NextKeyMarker !== key) break;
    }
    return found.get(key) ?? NO_HISTORY;
  }

  /** The content of one version; undefined if that is gone. */
  async read(key: string, version: string): Promise<Uint8Array | undefined> {
    const gone = ["NoSuchKey", "NoSuchVersion"];
    return await this.#ask(`Reading ${this.#shown(key)}`, gone, async (s3, options) => {
      const { Body } = await s3.getObject({ ...this.#object(key), VersionId: version }, options);
      return await Body?.transformToByteArray();
    });
  }

  /** Nothing is known of a version that is gone. */
  async headers(key: string, version: string): Promise<ObjectHeaders> {
    const found = await this.#ask(`Looking at ${this.#shown(key)}`, ["NotFound"], async (s3, options) =>
      s3.headObject({ ...this.#object(key), VersionId: version }, options),
    );
    const { ContentType, CacheControl, ContentDisposition, ContentEncoding, ContentLanguage } = found ?? {};
    const { Metadata, StorageClass, WebsiteRedirectLocation } = found ?? {};
    const texts = { ContentType, CacheControl, ContentDisposition, ContentEncoding, ContentLanguage };
    const all = { ...texts, Metadata, StorageClass, WebsiteRedirectLocation };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  }

  /** Begins an upload. Sent once only: of one whose answer is lost nobody would know. */
  async begin(key: string, headers: ObjectHeaders): Promise<string> {
    const begun = await this.#ask(
      `Beginning an upload to ${this.#shown(key)}`,
      [],
      async (s3, options) => s3.createMultipartUpload({ ...this.#object(key), ...headers }, options),
      1,
    );
    if (begun?.UploadId === undefined) throw new Error(`The upload to ${this.#shown(key)} got no id`);
    return begun.UploadId;
  }

  async uploadPart(key: string, uploadId: string, number: number, bytes: Uint8Array): Promise<void> {
    const digest = md5(bytes);
    const part = {
      PartNumber: number,
      Body: bytes,
      ContentMD5: Buffer.from(digest, "hex").toString("base64"),
    };
    const sent = await this.#ask(`Uploading to ${this.#shown(key)}`, [], async (s3, options) =>
      s3.uploadPart({ ...this.#object(key), UploadId: uploadId, ...part }, options),
    );
    if (unquoted(sent?.ETag) !== digest)
      throw new Error(
        `The ETag of a part of ${this.#shown(key)} is not its MD5, as with SSE-KMS: what lands could not be told apart`,
      );
  }

  /**
   * Makes an object of what was uploaded, and returns when the upload is over: it is an object, was one
   * before, or was given up. What a server says of the latter two differs from one to the next, so a failure
   * counts only if the upload is still there. It may be there because the server is at work on another
   * completion of it, which a process that was killed has sent: that is waited for.
   */
  async complete(key: string, uploadId: string, digests: readonly string[]): Promise<void> {
    const MultipartUpload = {
      Parts: digests.map((digest, at) => ({ PartNumber: at + 1, ETag: `"${digest}"` })),
    };
    const request = { ...this.#object(key), UploadId: uploadId, MultipartUpload };
    for (const giveUpAt = performance.now() + this.#access.limitMs; ; await sleep(LOOK_AGAIN_MS)) {
      try {
        await this.#ask(`Landing ${this.#shown(key)}`, [], async (s3, options) =>
          s3.completeMultipartUpload(request, options),
        );
        return;
      } catch (thrown) {
        if ((await this.firstParts(key, uploadId)) === undefined) return;
        if (!(thrown instanceof BucketError && thrown.mayPass) || performance.now() > giveUpAt) throw thrown;
      }
    }
  }

  /** Gives an upload up, if it is still there. */
  async abort(key: string, uploadId: string): Promise<void> {
    await this.#ask(`Giving up an upload to ${this.#shown(key)}`, ["NoSuchUpload"], async (s3, options) =>
      s3.abortMultipartUpload({ ...this.#object(key), UploadId: uploadId }, options),
    );
  }

  /** The uploads to a key that are under way, anybody's. */
  async uploads(key: string): Promise<BegunUpload[]> {
    const found: BegunUpload[] = [];
    let from: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | undefined = {};
    while (from !== undefined) {
      const page: ListMultipartUploadsCommandOutput | undefined = await this.#ask(
        `Looking for uploads to ${this.#shown(key)}`,
        [],
        async (s3, options) =>
          s3.listMultipartUploads({ Bucket: this.place.bucket, Prefix: key, ...from }, options),
      );
      for (const { Key, UploadId, Initiated } of page?.Uploads ?? [])
        if (Key === key && UploadId !== undefined && Initiated !== undefined)
          found.push({ id: UploadId, initiated: Initiated });
      const { NextKeyMarker, NextUploadIdMarker, IsTruncated } = page ?? {};
      const goesOn = IsTruncated === true && NextKeyMarker === key && NextUploadIdMarker !== undefined;
      from = goesOn ? { KeyMarker: key, UploadIdMarker: NextUploadIdMarker } : undefined;
    }
    return found;
  }

  /** The ETags of the first parts of an upload; undefined if that is gone. */
  async firstParts(key: string, uploadId: string): Promise<readonly string[] | undefined> {
    const gone = ["NoSuchUpload", "NoSuchKey"];
    const found = await this.#ask(`Looking at an upload to ${this.#shown(key)}`, gone, async (s3, options) =>
      s3.listParts({ ...this.#object(key), UploadId: uploadId }, options),
    );
    return found === undefined ? undefined : (found.Parts ?? []).map(({ ETag }) => unquoted(ETag));
  }

  /** Deletes exactly this version, for good; one that is gone is gone. */
  async removeVersion(key: string, version: string): Promise<void> {
    await this.#ask(
      `Deleting a version of ${this.#shown(key)}`,
      ["NoSuchKey", "NoSuchVersion"],
      async (s3, options) => s3.deleteObject({ ...this.#object(key), VersionId: version }, options),
    );
  }

  async *#versionPages(prefix: string): AsyncGenerator<ListObjectVersionsCommandOutput, void, undefined> {
    let from: Pick<ListObjectVersionsCommandInput, "KeyMarker" | "VersionIdMarker"> | undefined = {};
    while (from !== undefined) {
      const request: ListObjectVersionsCommandInput = { Bucket: this.place.bucket, Prefix: prefix, ...from };
      const page: ListObjectVersionsCommandOutput | undefined = await this.#ask(
        `Listing ${this.#shown(prefix)}`,
        [],
        async (s3, options) => s3.listObjectVersions(request, options),
      );
      if (page === undefined) return;
      yield page;
      const { NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page;
      from = page.IsTruncated === true ? { KeyMarker, VersionIdMarker } : undefined;
    }
  }

  async #ask<T>(
    what: string,
    accepted: readonly string[],
    request: (s3: S3, options: { readonly abortSignal: AbortSignal }) => Promise<T>,
    attempts = ATTEMPTS,
  ): Promise<T | undefined> {
    this.#assertNotInterrupted();
    const limit = AbortSignal.timeout(this.#access.limitMs);
    const abortSignal = this.#signal === undefined ? limit : AbortSignal.any([limit, this.#signal]);
    try {
      return await request(await this.#access.client(attempts), { abortSignal });
    } catch (thrown) {
      this.#assertNotInterrupted();
      if (thrown instanceof Error && accepted.includes(thrown.name)) return undefined;
      if (limit.aborted)
        throw new BucketError(`${what}, no answer in ${this.#access.limitMs / 1000} s`, { cause: thrown });
      throw new BucketError(what, { cause: thrown });
    }
  }

  #assertNotInterrupted(): void {
    if (this.#signal?.aborted === true) throw new InterruptedError();
  }

  #object(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.place.bucket, Key: key };
  }

  #shown(key: string): string {
    return `s3://${this.place.bucket}/${key}`;
  }
}

function addPage(
  found: Map<string, KeyHistory>,
  { Versions = [], DeleteMarkers = [] }: ListObjectVersionsCommandOutput,
): void {
  for (const { Key = "", VersionId = "", ETag, Size = 0 } of Versions) {
    const { versions, ...known } = found.get(Key) ?? NO_HISTORY;
    found.set(Key, {
      ...known,
      versions: [...versions, { id: VersionId, etag: unquoted(ETag), size: Size }],
    });
  }
  for (const { Key = "", VersionId = "", IsLatest } of DeleteMarkers) {
    const { markers, isDeleted, ...known } = found.get(Key) ?? NO_HISTORY;
    found.set(Key, { ...known, markers: [...markers, VersionId], isDeleted: isDeleted || IsLatest === true });
  }
}

function unquoted(etag = ""): string {
  return etag.replaceAll('"', "");
}
