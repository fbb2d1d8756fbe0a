import type { S3, S3ClientConfig } from "@aws-sdk/client-s3";

/** What a config gives under `options:`. Keys and secrets are no part of it: they are in the environment. */
export interface S3Options {
  readonly endpoint?: string;
  readonly region?: string;
  readonly path_style?: boolean;
  readonly timeout_seconds: number;
}

export const OPTIONS_SCHEMA = {
  type: "object",
  properties: {
    endpoint: { type: "string", pattern: "^https?://" },
    region: { type: "string" },
    path_style: { type: "boolean" },
    timeout_seconds: { type: "integer", minimum: 1, maximum: 3600, default: 60 },
  },
  additionalProperties: false,
};

const ALONE = { keepAlive: false };

type Environment = { readonly [name: string]: string | undefined };

/** A client holds connections: those of one process are shared by all that ask for the same. */
const clients = new Map<string, Promise<S3>>();

/**
 * Makes clients when they are needed: much of the work in a sandbox is local, and the SDK takes a while to
 * load.
 */
export class S3Access {
  readonly limitMs: number;
  readonly #options: S3Options;
  readonly #environment: Environment;

  constructor(options: S3Options, environment: Environment) {
    this.limitMs = options.timeout_seconds * 1000;
    this.#options = options;
    this.#environment = environment;
  }

  /** One that sends a request so many times before it gives up. */
  async client(attempts: number): Promise<S3> {
    const config = { ...this.#config(), maxAttempts: attempts };
    const known = clients.get(JSON.stringify(config)) ?? makeClient(config);
    clients.set(JSON.stringify(config), known);
    return await known;
  }

  /** What is not set here, the SDK looks for itself: profiles, roles, single sign-on. */
  #config(): S3ClientConfig {
    const environment = this.#environment;
    const endpoint =
      this.#options.endpoint ??
      environment["AWS_ENDPOINT_URL_S3"] ??
      environment["AWS_ENDPOINT_URL"] ??
      undefined;
    const region = this.#options.region ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"];
    const credentials = credentialsIn(environment);
    return {
      ...(endpoint !== undefined && { endpoint }),
      ...(region !== undefined && { region }),
      ...(credentials !== undefined && { credentials }),
      // A server of one's own seldom has a name for each bucket.
      forcePathStyle: this.#options.path_style ?? endpoint !== undefined,
      // Not every server knows the newer checksums. What is uploaded is checked by MD5.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
    };
  }
}

async function makeClient(config: S3ClientConfig): Promise<S3> {
  const { S3 } = await import("@aws-sdk/client-s3");
  // A connection that the server has closed meanwhile costs an attempt, and there may be only one.
  const alone = config.maxAttempts === 1 ? { requestHandler: { httpAgent: ALONE, httpsAgent: ALONE } } : {};
  return new S3({ ...config, ...alone });
}

function credentialsIn(environment: Environment): Extract<S3ClientConfig["credentials"], object> | undefined {
  const [accessKeyId, secretAccessKey] = [
    environment["AWS_ACCESS_KEY_ID"],
    environment["AWS_SECRET_ACCESS_KEY"],
  ];
  const sessionToken = environment["AWS_SESSION_TOKEN"];
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}
