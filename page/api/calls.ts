import type { Problem, Progress } from "./types.ts";

/** A call that the server refused, or that did not reach it. */
export class CallError extends Error {
  readonly problem: Problem | undefined;

  constructor(message: string, problem?: Problem) {
    super(message);
    this.problem = problem;
  }
}

/**
 * The key of this page, which the server wants beside its cookie. It is kept where only pages of this very
 * host and port can read it, so that other windows and a reload have it too.
 */
const KEY = "drydock-key";

export function keepKey(key: string): void {
  localStorage.setItem(KEY, key);
}

interface CallOptions {
  readonly body?: object;
  readonly signal?: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
  /** The browser finishes the call also when the window closes or loads again. */
  readonly keepalive?: boolean;
}

/** Calls the server. Fails with what it said. */
export async function call(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  const { body, signal, keepalive = false } = options;
  const headers = {
    "x-drydock-key": localStorage.getItem(KEY) ?? "",
    ...(body !== undefined && { "content-type": "application/json" }),
    ...options.headers,
  };
  const wanted = {
    ...{ method, headers, keepalive },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  };
  const answer = await fetch(path, wanted).catch((thrown: unknown) => {
    if (signal?.aborted === true) throw thrown;
    throw new CallError("The server does not answer: the review has ended, or its command was stopped.");
  });
  // The server refuses also with the status of a success, so that the console stays clean.
  const problem = await problemIn(answer);
  if (answer.ok && problem === undefined) return answer;
  throw new CallError(problem?.detail ?? `The server answered ${answer.status}.`, problem);
}

async function problemIn(answer: Response): Promise<Problem | undefined> {
  const isProblem = answer.headers.get("content-type") === "application/problem+json";
  return isProblem ? ((await answer.json()) as Problem) : undefined;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await call("GET", path, signal === undefined ? {} : { signal });
  return (await answer.json()) as T;
}

export async function post<T>(path: string, body: object): Promise<T> {
  return (await (await call("POST", path, { body })).json()) as T;
}

/** Browsers finish only calls with so much in them when a window closes. */
const MOST_KEPT_ALIVE = 60_000;

/** Tells the server what the user said. It reaches the server also if the window loads again right after. */
export async function tell<T>(path: string, body: object): Promise<T> {
  const keepalive = JSON.stringify(body).length < MOST_KEPT_ALIVE;
  return (await (await call("POST", path, { body, keepalive })).json()) as T;
}

/** A call that may take long. Its progress is told now and then. */
export async function postFollowed<T>(
  path: string,
  body: object,
  onProgress: (progress: Progress) => void,
): Promise<T> {
  const answer = await call("POST", path, { body, headers: { accept: "text/event-stream" } });
  for await (const { event, data } of eventsIn(answer)) {
    if (event === "progress") onProgress(data as Progress);
    if (event === "done") return data as T;
    if (event === "problem") throw new CallError((data as Problem).detail, data as Problem);
  }
  throw new CallError("The server ended before it said what came of it. Load the page again, and look.");
}

/** The events of an answer, until it ends. */
export async function* eventsIn(
  answer: Response,
): AsyncGenerator<{ readonly event: string; readonly data: unknown }> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of answer.body ?? []) {
    const blocks = `${text}${decoder.decode(part, { stream: true })}`.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [event, data] = [/^event: (.*)$/m, /^data: (.*)$/m].map((field) => field.exec(block)?.[1]);
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}

/** The query of a URL. A path may hold bytes that are not UTF-8, as lone surrogates (byte-path.ts). */
export function query(values: { readonly [name: string]: string | number | undefined }): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encoded(String(value))}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

const LONE_BYTE = /([\udc80-\udcff])/u;

export function encoded(text: string): string {
  return text
    .split(LONE_BYTE)
    .map((part, at) =>
      at % 2 === 0
        ? encodeURIComponent(part.toWellFormed())
        : `%${(part.charCodeAt(0) - 0xdc00).toString(16)}`,
    )
    .join("");
}
