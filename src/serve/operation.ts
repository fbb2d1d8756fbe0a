import type { z } from "zod";
import { UsageError } from "../core/errors/errors.ts";
import type { Services } from "../services.ts";
import type { ServedCommands } from "./served-commands.ts";
import { nothing } from "./shapes/parameters.ts";

/** What every operation works with. */
export interface ServeContext {
  readonly services: Services;
  /** The commands that clients stream. */
  readonly commands: ServedCommands;
  /** How a person speaks through this server, for the log; absent if its callers may be programs. */
  readonly person?: "api" | "page" | undefined;
  /** Whether its callers are commands inside a plan. */
  readonly inside?: boolean;
  /** Of Drydock. */
  readonly version: string;
}

/** One call of an operation. */
export interface Call extends ServeContext {
  /** Aborted when the client goes away or the server stops. */
  readonly signal: AbortSignal;
  /** The body, for an operation that takes bytes. */
  readonly content: AsyncIterable<Uint8Array>;
  header(name: string): string | undefined;
}

/** Bytes as an answer. */
export interface ByteAnswer {
  readonly status?: 200 | 206;
  readonly headers?: { readonly [name: string]: string };
  readonly content: AsyncIterable<Uint8Array | string>;
}

/** One event of a stream of server-sent events. */
export interface StreamEvent {
  readonly event: string;
  readonly id?: string;
  readonly data: unknown;
}

/** What comes back: a JSON document, bytes, or a stream of events, each with the schema of its data. */
export type Answer =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly schema: z.ZodType }
  | { readonly kind: "bytes"; readonly type: string; readonly ranges?: boolean }
  | { readonly kind: "events"; readonly events: { readonly [name: string]: z.ZodType } };

export type Method = "get" | "post" | "put" | "delete";

/** An operation of the API. The routes and the OpenAPI document are made of the list of these. */
export interface Operation {
  /** Its name in clients that are generated from the document. */
  readonly id: string;
  readonly method: Method;
  /** With parameters in braces: "/plans/{plan}". */
  readonly path: string;
  readonly summary: string;
  readonly parameters: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodObject | "bytes" | undefined;
  readonly answer: Answer;
  call(input: Input<z.ZodObject, z.ZodObject, z.ZodObject>, call: Call): Promise<unknown>;
}

interface Input<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject> {
  readonly parameters: z.output<P>;
  readonly query: z.output<Q>;
  readonly body: z.output<B>;
}

interface Definition<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject, Result> {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly parameters?: P;
  readonly query?: Q;
  readonly body?: B | "bytes";
  call(input: Input<P, Q, B>, call: Call): Promise<Result>;
}

type None = typeof nothing;

/** The same, with nothing in it that could be changed. */
type Frozen<T> = T extends object ? { readonly [key in keyof T]: Frozen<T[key]> } : T;

/** An operation that answers with a JSON document: the one that `--json` prints. */
export function json<
  Out extends z.ZodType,
  P extends z.ZodObject = None,
  Q extends z.ZodObject = None,
  B extends z.ZodObject = None,
>(
  definition: Definition<P, Q, B, Frozen<z.input<Out>>> & {
    readonly output: Out;
    readonly status?: 200 | 201;
  },
): Operation {
  const { output: schema, status = 200, ...rest } = definition;
  return operation(rest, { kind: "json", status, schema });
}

/** An operation that answers with bytes of this type. */
export function bytes<
  P extends z.ZodObject = None,
  Q extends z.ZodObject = None,
  B extends z.ZodObject = None,
>(
  definition: Definition<P, Q, B, ByteAnswer> & { readonly type: string; readonly ranges?: boolean },
): Operation {
  const { type, ranges = false, ...rest } = definition;
  return operation(rest, { kind: "bytes", type, ranges });
}

/** An operation that answers with a stream of events. */
export function events<
  P extends z.ZodObject = None,
  Q extends z.ZodObject = None,
  B extends z.ZodObject = None,
>(
  definition: Definition<P, Q, B, AsyncIterable<StreamEvent>> & {
    readonly events: { readonly [name: string]: z.ZodType };
  },
): Operation {
  const { events: shapes, ...rest } = definition;
  return operation(rest, { kind: "events", events: shapes });
}

function operation(definition: object, answer: Answer): Operation {
  const given = definition as Operation & Partial<Pick<Operation, "parameters" | "query" | "body">>;
  const { parameters = nothing, query = nothing, body } = given;
  return { ...given, parameters, query, body, answer };
}

/** By which way callers speak through this server, for the log. */
export function viaOf({ person, inside = false }: ServeContext): string {
  return person ?? (inside ? "inside" : "program");
}

/** How a person speaks through this server. Refuses where the server can't know its callers as that. */
export function assertPerson({ person }: ServeContext): NonNullable<ServeContext["person"]> {
  if (person !== undefined) return person;
  throw new UsageError("This server takes no approvals.", {
    hint: "Approve at a terminal, or at the server's private socket.",
    code: "NOT_ALLOWED",
  });
}
