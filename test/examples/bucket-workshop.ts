import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { Workplace } from "../end-to-end/workplace.ts";
import type { S3Client } from "../support/s3-client.ts";

/** What is in the folder and in the bucket, before and after a plan over both. */
export const OLD = { folder: "old page\n", changed: "old object\n", added: undefined };
export const NEW = { folder: "new page\n", changed: "new object\n", added: "added object\n" };

/** A folder and a prefix in a bucket, with one object, for a plan over both. */
export class BucketWorkshop extends Workplace implements AsyncDisposable {
  readonly prefix: string;
  readonly config: string;
  readonly #bucket: S3Client;
  readonly #open: Services[] = [];

  private constructor(bucket: S3Client, config: string, prefix: string) {
    super();
    this.#bucket = bucket;
    this.config = config;
    this.prefix = prefix;
    this.folder("website", { "index.html": OLD.folder });
  }

  static async make(bucket: S3Client, config: string, prefix: string): Promise<BucketWorkshop> {
    await bucket.put(`${prefix}/page.html`, OLD.changed, {
      "content-type": "text/html",
      "cache-control": "max-age=77",
      "x-amz-meta-author": "somebody",
    });
    return new BucketWorkshop(bucket, config, prefix);
  }

  override get environment(): NodeJS.ProcessEnv {
    const aws = Object.entries(process.env).filter(([name]) => /^AWS_|^NODE_COMPILE_CACHE$/.test(name));
    const set = {
      ...Object.fromEntries(aws),
      NODE_OPTIONS: "--conditions=drydock-source",
      DRYDOCK_CONFIG: this.config,
    };
    return { ...super.environment, ...set };
  }

  get location(): string {
    return `s3://${this.#bucket.bucket}/${this.prefix}`;
  }

  /** Another process that comes later. Opening recovers what was left. */
  async open(): Promise<Services> {
    const drydock = await openServices({ stateDir: this.state, cwd: this.path, config: this.config });
    this.#open.push(drydock);
    return drydock;
  }

  /** A plan over both, with work in both. */
  async plan(drydock: Services): Promise<string> {
    const site = { location: this.location, type: "s3-bucket", name: "site" };
    const { id } = await drydock.plans.create({ resources: [{ location: "website" }, site] });
    await drydock.plans.write(id, "website", "index.html", Buffer.from(NEW.folder));
    await drydock.plans.write(id, "site", "page.html", Buffer.from(NEW.changed));
    await drydock.plans.write(id, "site", "made/here.txt", Buffer.from(NEW.added));
    return id;
  }

  /** What is there, seen from outside. */
  async sides(): Promise<{ folder: string; changed: string | undefined; added: string | undefined }> {
    const [changed, added] = await Promise.all(
      ["page.html", "made/here.txt"].map((path) => this.#bucket.text(`${this.prefix}/${path}`)),
    );
    return { folder: this.read("website/index.html"), changed, added };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const drydock of this.#open) await drydock.close();
    this[Symbol.dispose]();
  }
}
