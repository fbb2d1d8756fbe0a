import { createHash, createHmac } from "node:crypto";

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

export interface ListedVersion {
  readonly key: string;
  readonly id: string;
}

/** Where a server is, and who speaks to it. */
export interface S3Login {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/**
 * Somebody else who uses a bucket: plain requests, signed by hand (AWS Signature Version 4), so that what a
 * strategy did is not seen by the library that it did it with.
 */
export class S3Client {
  readonly bucket: string;
  readonly #login: S3Login;

  constructor(login: S3Login, bucket: string) {
    this.#login = login;
    this.bucket = bucket;
  }

  async makeBucket({ versioned }: { readonly versioned: boolean }): Promise<void> {
    await this.#ask("PUT", "");
    const body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    if (versioned) await this.#ask("PUT", "", { versioning: "" }, { body });
  }

  /** Returns the id of the version. */
  async put(
    key: string,
    content: string,
    headers: { readonly [name: string]: string } = {},
  ): Promise<string> {
    const answer = await this.#ask("PUT", key, {}, { body: content, headers });
    return answer.headers.get("x-amz-version-id") ?? "";
  }

  /** Undefined if there is no such object. */
  async get(key: string, versionId?: string): Promise<Buffer | undefined> {
    const answer = await this.#ask("GET", key, versionId === undefined ? {} : { versionId }, {
      missing: true,
    });
    return answer.status === 404 ? undefined : answer.body;
  }

  async text(key: string, versionId?: string): Promise<string | undefined> {
    return (await this.get(key, versionId))?.toString();
  }

  async headers(key: string): Promise<Headers> {
    return (await this.#ask("HEAD", key)).headers;
  }

  /** All versions below a prefix, newest first for each key. */
  async versions(prefix: string): Promise<ListedVersion[]> {
    const list = (await this.#ask("GET", "", { prefix, versions: "" })).body.toString();
    return [...list.matchAll(/<Version>.*?<\/Version>/gs)].map(([entry]) => ({
      key: tagIn(entry, "Key"),
      id: tagIn(entry, "VersionId"),
    }));
  }

  /** The uploads in the bucket that were begun and neither completed nor given up. */
  async uploads(): Promise<{ readonly key: string; readonly id: string }[]> {
    const list = (await this.#ask("GET", "", { uploads: "" })).body.toString();
    return [...list.matchAll(/<Upload>.*?<\/Upload>/gs)].map(([entry]) => ({
      key: tagIn(entry, "Key"),
      id: tagIn(entry, "UploadId"),
    }));
  }

  /** Begins an upload, and returns its id. */
  async beginUpload(key: string): Promise<string> {
    return tagIn((await this.#ask("POST", key, { uploads: "" })).body.toString(), "UploadId");
  }

  /** Sends the only part of an upload, and returns its ETag. */
  async sendPart(key: string, uploadId: string, content: string): Promise<string> {
    const { headers } = await this.#ask("PUT", key, { partNumber: "1", uploadId }, { body: content });
    return headers.get("etag") ?? "";
  }

  /** Uploads an object in one part. */
  async upload(key: string, content: string): Promise<void> {
    const uploadId = await this.beginUpload(key);
    const part = `<Part><PartNumber>1</PartNumber><ETag>${await this.sendPart(key, uploadId, content)}</ETag></Part>`;
    const body = `<CompleteMultipartUpload>${part}</CompleteMultipartUpload>`;
    await this.#ask("POST", key, { uploadId }, { body });
  }

  async abortUpload(key: string, uploadId: string): Promise<void> {
    await this.#ask("DELETE", key, { uploadId });
  }

  async #ask(
    method: string,
    key: string,
    query: { readonly [name: string]: string } = {},
    more: {
      readonly body?: string;
      readonly missing?: boolean;
      readonly headers?: { readonly [name: string]: string };
    } = {},
  ): Promise<Answer> {
    const path = ["", this.bucket, ...key.split("/")].map(encoded).join("/");
    const parameters = Object.entries(query)
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .sort()
      .join("&");
    const response = await fetch(`${this.#login.endpoint}${path}?${parameters}`, {
      method,
      // One that the server has closed meanwhile would fail.
      headers: { ...more.headers, ...this.#signed(method, path, parameters), connection: "close" },
      signal: AbortSignal.timeout(60_000),
      ...(more.body !== undefined && { body: more.body }),
    });
    const body = Buffer.from(await response.arrayBuffer());
    const isFine = response.ok || (response.status === 404 && more.missing === true);
    if (!isFine) throw new Error(`${method} ${path}?${parameters}: ${response.status} ${body}`);
    return { status: response.status, headers: response.headers, body };
  }

  #signed(method: string, path: string, parameters: string): { readonly [name: string]: string } {
    const { region, accessKey, secretKey, endpoint } = this.#login;
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
    const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
    const headers = {
      host: new URL(endpoint).host,
      "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
      "x-amz-date": time,
    };
    const names = Object.keys(headers).join(";");
    const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
    const request = [method, path, parameters, lines.join(""), names, "UNSIGNED-PAYLOAD"].join("\n");
    const toSign = ["AWS4-HMAC-SHA256", time, scope, createHash("sha256").update(request).digest("hex")].join(
      "\n",
    );
    const key = scope
      .split("/")
      .reduce((secret: Buffer, part) => hmac(secret, part), Buffer.from(`AWS4${secretKey}`));
    const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${hmac(key, toSign).toString("hex")}`;
    return { ...headers, authorization };
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function tagIn(xml: string, tag: string): string {
  return new RegExp(`<${tag}>(.*?)</${tag}>`, "s").exec(xml)?.[1] ?? "";
}
