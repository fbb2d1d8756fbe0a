import { type IncomingMessage, request } from "node:http";
import { buffer, text } from "node:stream/consumers";
import type { ErrorCode } from "../../core/errors/error-codes.ts";
import { DrydockError, messageOf, UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { apiHint } from "../api-hints.ts";
import type { Problem } from "../http/problem.ts";

type Query = { readonly [name: string]: string | readonly string[] | undefined };

/** Calls Drydock through the channel of the command that this process is part of. */
export class ChannelClient {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  async get<T>(path: string, query: Query = {}): Promise<T> {
    return parsed(await text(await this.#called("GET", pathWith(path, query)))) as T;
  }

  async post<T>(path: string, body: object): Promise<T> {
    return parsed(await text(await this.#called("POST", path, body))) as T;
  }

  async bytes(path: string, query: Query): Promise<Buffer> {
    return await buffer(await this.#called("GET", pathWith(path, query)));
  }

  async #called(method: string, path: string, body?: object): Promise<IncomingMessage> {
    const answer = await this.#answer(method, `/v1${path}`, body);
    if (answer.statusCode !== undefined && answer.statusCode < 300) return answer;
    throw errorOf(JSON.parse(await text(answer)) as Problem);
  }

  async #answer(method: string, path: string, body: object | undefined): Promise<IncomingMessage> {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const called = request({ socketPath: this.#socket, method, path, headers });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    called.once("response", resolve);
    called.once("error", (thrown) => reject(notAnswered(thrown)));
    called.end(body === undefined ? undefined : JSON.stringify(body));
    return await promise;
  }
}

/** Any bytes, for a part of a URL. */
export function encoded(text: string): string {
  return bytesFromPath(text)
    .toString("latin1")
    .replaceAll(/[^\w.-]/g, (byte) => {
      return `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`;
    });
}

function pathWith(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => `${name}=${encoded(each)}`),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

function notAnswered(thrown: unknown): UnsupportedError {
  return new UnsupportedError(
    `Drydock does not answer at the channel of this command: ${messageOf(thrown)}.`,
    {
      hint: "Ask the person outside. A channel ends with its command.",
      cause: thrown,
    },
  );
}

/** The error of a problem. Words that are for programs are left out: the code says enough. */
function errorOf({ status, code, detail, hint, details = {} }: Problem): DrydockError {
  const known = code as ErrorCode;
  const isOfPrograms = apiHint(new DrydockError(known, detail, { details })) === hint;
  const options = { code: known, details, ...(!isOfPrograms && { hint }) };
  const isWrongUse = status < 500 && status !== 422 && code !== "BUSY" && code !== "CLAIMED";
  return isWrongUse ? new UsageError(detail, options) : new DrydockError(known, detail, options);
}

/** JSON in which integers keep all their digits. */
function parsed(json: string): unknown {
  return JSON.parse(json, (_, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === "number" &&
    source !== undefined &&
    /^-?\d+$/.test(source) &&
    !Number.isSafeInteger(value)
      ? BigInt(source)
      : value,
  );
}
