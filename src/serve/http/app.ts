import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { DrydockError } from "../../core/errors/errors.ts";
import { BASE, OPERATIONS } from "../api.ts";
import { openApiDocument } from "../openapi.ts";
import type { ByteAnswer, Operation, ServeContext, StreamEvent } from "../operation.ts";
import { followedCall, wantsEvents } from "./followed-call.ts";
import { type Problem, problemOf, RequestError } from "./problem.ts";
import { contentOf, inputOf } from "./request-input.ts";
import { sendBytes, sendEvents } from "./streams.ts";

/** How Node tells of a request. */
interface Bindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export type App = Hono<{ Bindings: Bindings }>;

/** An answer that is a stream has a dozen, most of them Node's own; above ten, Node warns of a leak. */
const MOST_LISTENERS = 20;

/** The requests under way. */
export class Requests {
  readonly #answers = new Set<ServerResponse>();

  /** Counts a request until its answer is sent, or its client gone. */
  add(outgoing: ServerResponse): void {
    this.#answers.add(outgoing);
    outgoing.setMaxListeners(MOST_LISTENERS);
    outgoing.once("close", () => this.#answers.delete(outgoing));
  }

  async allEnded(): Promise<void> {
    for (const outgoing of this.#answers) if (!outgoing.closed) await once(outgoing, "close");
  }
}

export interface AppOptions extends ServeContext {
  /** Throws for a request that may not come in. */
  readonly guard: { assertAllowed(incoming: IncomingMessage): void };
  /** Default: all operations of the API. */
  readonly operations?: readonly Operation[];
  /** Default: that of all operations. */
  readonly document?: () => object;
  /** How long a JSON body may be. */
  readonly mostJsonBytes?: number;
  readonly requests: Requests;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
  /** Serves agents, by the Model Context Protocol. */
  readonly mcp?: (request: Request) => Promise<Response>;
  /** Headers of every answer, also of a refusal. */
  readonly headers?: { readonly [name: string]: string };
  /**
   * Whether a refusal of an operation has the status of a success; its type and its `status` tell. A browser
   * prints every other one in its console, as if the page were broken.
   */
  readonly refusesQuietly?: boolean;
  /** The refusal of anything that is no operation of this server. */
  readonly unknown?: () => Error;
  /** Adds routes of its own. */
  readonly extend?: (app: App) => void;
  /** Told of defects, which clients see only as such. */
  readonly onDefect: (thrown: unknown) => void;
}

/** The routes: one for each operation, the document, and the agents' way in. */
export function makeApp(options: AppOptions): App {
  const { guard, requests, stopping, mcp, operations = OPERATIONS, headers = {} } = options;
  const { document = () => openApiDocument() } = options;
  const app: App = new Hono();
  app.onError((thrown) => {
    const problem = reported(thrown, options);
    const isQuiet = options.refusesQuietly === true && thrown instanceof DrydockError && problem.status < 500;
    return answerOf(problem, isQuiet ? 200 : problem.status, "application/problem+json");
  });
  app.notFound(() => {
    throw (options.unknown ?? noSuchOperation)();
  });
  app.use(async ({ env }, next) => {
    requests.add(env.outgoing);
    for (const [name, value] of Object.entries(headers)) env.outgoing.setHeader(name, value);
    guard.assertAllowed(env.incoming);
    if (stopping.aborted)
      throw new RequestError([503, "STOPPING"], "The server stops.", { hint: "Try again when it is back." });
    await next();
  });
  options.extend?.(app);
  app.get(`${BASE}/openapi.json`, () => answerOf(document(), 200));
  if (mcp !== undefined) app.all("/mcp", async ({ req }) => await mcp(req.raw));
  for (const operation of operations) route(app, operation, options);
  return app;
}

function noSuchOperation(): RequestError {
  return new RequestError([404, "NO_SUCH_OPERATION"], "There is no such operation.", {
    hint: `${BASE}/openapi.json has all of them.`,
  });
}

function route(app: App, operation: Operation, options: AppOptions): void {
  const path = `${BASE}${operation.path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
  app.on(operation.method.toUpperCase(), path, async ({ req, env }) => {
    const names = Object.keys(operation.parameters.shape);
    const parts = new URL(req.url).pathname.split("/");
    const at = path.split("/");
    const parameters = Object.fromEntries(names.map((name) => [name, parts[at.indexOf(`:${name}`)] ?? ""]));
    return await answer(operation, parameters, { ...env, ...options });
  });
}

async function answer(
  operation: Operation,
  parameters: { readonly [name: string]: string },
  { incoming, outgoing, stopping, mostJsonBytes, ...context }: AppOptions & Bindings,
): Promise<Response> {
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const signal = AbortSignal.any([gone.signal, stopping]);
  const input = await inputOf(operation, incoming, { parameters, mostJsonBytes });
  const call = {
    ...context,
    signal,
    content: contentOf(incoming),
    header: (name: string) => incoming.headers[name]?.toString(),
  };
  const { operations } = context.services;
  const about = { operation: operation.id, signal };
  const stream = async (events: AsyncIterable<StreamEvent>): Promise<Response> => {
    await sendEvents(events, outgoing, (thrown) => reported(thrown, context));
    return RESPONSE_ALREADY_SENT;
  };
  if (operation.answer.kind === "json" && wantsEvents(incoming.headers.accept))
    return await stream(
      followedCall((onProgress) =>
        operations.run({ ...about, onProgress }, () => operation.call(input, call)),
      ),
    );
  const result = await operations.run(about, () => operation.call(input, call));
  switch (operation.answer.kind) {
    case "json":
      return answerOf(result, operation.answer.status);
    case "bytes": {
      const { content, ...rest } = result as ByteAnswer;
      const within = operations.each(about, () => content);
      await sendBytes({ ...rest, content: within }, operation.answer.type, outgoing);
      return RESPONSE_ALREADY_SENT;
    }
    case "events":
      return await stream(operations.each(about, () => result as AsyncIterable<StreamEvent>));
  }
}

/** What a client hears of an error; a defect is told to the owner of the server too. */
function reported(thrown: unknown, { onDefect }: Pick<AppOptions, "onDefect">): Problem {
  const problem = problemOf(thrown);
  if (problem.code === "DEFECT") onDefect(thrown);
  return problem;
}

function answerOf(document: unknown, status: number, type = "application/json"): Response {
  return new Response(`${JSON.stringify(document)}\n`, { status, headers: { "content-type": type } });
}
