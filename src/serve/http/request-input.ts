import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { pathFromBytes } from "../../core/paths/byte-path.ts";
import type { Operation } from "../operation.ts";
import { RequestError } from "./problem.ts";

/** A JSON body is held in memory. */
const MOST_JSON_BYTES = 16 * 1024 * 1024;
/** A client sends its document at once. */
const MOST_JSON_MS = 30_000;
/** A file goes to disk as it comes; the disk may be full before. */
const MOST_FILE_BYTES = 64 * 1024 ** 3;
const MOST_PROBLEMS = 20;

type Parameters = { readonly [name: string]: string };

/** What an operation is called with, read from a request and checked. */
export async function inputOf(
  operation: Operation,
  incoming: IncomingMessage,
  {
    parameters,
    mostJsonBytes,
  }: { readonly parameters: Parameters; readonly mostJsonBytes?: number | undefined },
) {
  const { body } = operation;
  const query = queryOf(incoming.url ?? "", operation.query);
  const given = body === undefined || body === "bytes" ? {} : await jsonOf(incoming, mostJsonBytes);
  return {
    parameters: checked(operation.parameters, mapped(parameters), "path"),
    query: checked(operation.query, query, "query"),
    body: body === undefined || body === "bytes" ? {} : checked(body, given, "body"),
  };
}

/** A JSON body of this shape. */
export async function checkedBody<Shape extends z.ZodType>(
  shape: Shape,
  incoming: IncomingMessage,
): Promise<z.output<Shape>> {
  return checked(shape, await jsonOf(incoming), "body");
}

/** The body as it comes, at most so many bytes of it. */
export async function* contentOf(
  incoming: AsyncIterable<Uint8Array>,
  most = MOST_FILE_BYTES,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const bytes of incoming) {
    size += bytes.length;
    if (size > most) throw tooLarge(most);
    yield bytes;
  }
}

function tooLarge(most: number): RequestError {
  return new RequestError([413, "BODY_TOO_LARGE"], `The body has more than ${most} bytes.`, {
    hint: "Send less at once.",
  });
}

async function jsonOf(incoming: IncomingMessage, most = MOST_JSON_BYTES): Promise<unknown> {
  const { "content-type": type = "", "content-length": length = "0" } = incoming.headers;
  if (Number(length) > most) throw tooLarge(most);
  const late = setTimeout(() => incoming.destroy(), MOST_JSON_MS);
  const pieces = await Array.fromAsync(contentOf(incoming, most));
  clearTimeout(late);
  const text = Buffer.concat(pieces).toString();
  // An operation without anything to say to it can be called without a body.
  if (text === "") return {};
  if (!/^application\/json(?:;|$)/i.test(type))
    throw new RequestError([415, "NO_JSON"], "The body is not said to be JSON.", {
      hint: "Send the header 'Content-Type: application/json'.",
    });
  const parsed = parsedJson(text);
  if (parsed !== undefined) return parsed;
  throw new RequestError([400, "NO_JSON"], "The body is not JSON.", { hint: "Send a JSON document." });
}

/** Undefined, which no JSON stands for, if it is none. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

function checked<Shape extends z.ZodType>(shape: Shape, given: unknown, where: string): z.output<Shape> {
  const { success, data, error } = shape.safeParse(given);
  if (success) return data;
  const problems = error.issues.slice(0, MOST_PROBLEMS).map(({ path, message }) => ({
    at: [where, ...path].join("."),
    message,
  }));
  const [first] = problems;
  throw new RequestError([400, "BAD_ARGUMENT"], `${first?.at}: ${first?.message}`, {
    hint: "The OpenAPI document says what is expected.",
    details: { problems },
  });
}

/** The query. A name that stands for a list may come several times; any bytes can be percent-encoded. */
function queryOf(url: string, shape: z.ZodObject): { readonly [name: string]: unknown } {
  const found = new Map<string, string[]>();
  for (const pair of url.split("?").slice(1).join("?").split("&")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const [name, value] = at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
    found.set(decoded(name), [...(found.get(decoded(name)) ?? []), decoded(value)]);
  }
  const entries = [...found].map(([name, values]) => {
    const [only] = values;
    return [name, values.length === 1 && !isList(shape.shape[name]) ? only : values] as const;
  });
  return Object.fromEntries(entries);
}

function mapped(parameters: Parameters): Parameters {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, decoded(value)]));
}

/** Bytes that are not UTF-8 become lone surrogates, as everywhere. */
function decoded(text: string): string {
  const bytes = text
    .replaceAll("+", "%20")
    .split(/(%[0-9a-fA-F]{2})/)
    .map((part, at) => (at % 2 === 1 ? Buffer.from(part.slice(1), "hex") : Buffer.from(part)));
  return pathFromBytes(Buffer.concat(bytes));
}

function isList(shape: z.core.$ZodType | undefined): boolean {
  if (shape instanceof z.ZodExactOptional || shape instanceof z.ZodOptional) return isList(shape.unwrap());
  return shape instanceof z.ZodArray;
}
