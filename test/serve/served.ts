import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import createClient from "openapi-fetch";
import type { paths } from "../../schema/openapi.d.ts";
import { BASE, OPERATIONS } from "../../src/serve/api.ts";
import type { Operation } from "../../src/serve/operation.ts";
import type { Running, Workplace } from "../end-to-end/workplace.ts";

/** Where a server listens. */
type Address = { readonly socketPath: string } | { readonly port: number };

/** What `serve --json` says when it is ready. */
interface Ready {
  readonly socket?: string;
  readonly url?: string;
  readonly tokenFile?: string;
}

/** An event of a stream. */
export interface Told {
  readonly event: string;
  readonly id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests look at
  readonly data: any;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/**
 * A server process, and a client that is generated from its document. Every JSON answer is checked against
 * the schema of its operation. Leaving the scope (`await using`) ends the server.
 */
export class Served implements AsyncDisposable {
  readonly running: Running;
  readonly address: Address;
  readonly ready: Ready;
  /** The operations that were answered well. */
  readonly answered = new Set<string>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #headers: { readonly [name: string]: string };

  private constructor(running: Running, ready: Ready, token?: string) {
    this.running = running;
    this.ready = ready;
    this.address =
      ready.socket === undefined
        ? { port: Number(new URL(ready.url ?? "").port) }
        : { socketPath: ready.socket };
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  static async start(place: Workplace, args: readonly string[] = [], env = {}): Promise<Served> {
    const running = place.start(["serve", "--json", ...args], env);
    await running.until(() => running.stdout.includes("\n"));
    const ready = JSON.parse(running.stdout) as Ready;
    const token = ready.tokenFile === undefined ? undefined : place.readAt(ready.tokenFile).trim();
    return new Served(running, ready, token);
  }

  get client() {
    return createClient<paths>({
      baseUrl: "http://localhost",
      fetch: async (wanted: Request) => await this.#fetch(wanted),
    });
  }

  /** Sends any request; the answer comes as it is. */
  async raw(path: string, options: RawRequest = {}): Promise<IncomingMessage> {
    const { method = "GET", headers = {}, body, signal } = options;
    const outgoing = request({
      ...{ ...this.address, path, method, agent: this.#agent },
      headers: { host: "localhost", ...this.#headers, ...headers },
      ...(signal !== undefined && { signal }),
    });
    outgoing.end(body);
    try {
      const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
      return incoming;
    } catch (thrown) {
      // The server closed an idle connection in the moment in which it was taken again.
      const { code = "" } = thrown as NodeJS.ErrnoException;
      if (!outgoing.reusedSocket || !["EPIPE", "ECONNRESET"].includes(code)) throw thrown;
      return await this.raw(path, options);
    }
  }

  /** The events of a stream, until the client stops reading, which closes the connection. */
  async *events(path: string, options: RawRequest = {}): AsyncGenerator<Told> {
    const incoming = await this.raw(path, options);
    assert.equal(incoming.statusCode, 200);
    let text = "";
    try {
      for await (const part of incoming.setEncoding("utf8")) {
        const blocks = `${text}${part}`.split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) {
          const fields = Object.fromEntries(
            block.split("\n").map((line) => {
              const at = line.indexOf(": ");
              return [line.slice(0, at), line.slice(at + 2)];
            }),
          );
          if (fields["event"] !== undefined)
            yield {
              event: fields["event"],
              ...(fields["id"] !== undefined && { id: fields["id"] }),
              data: JSON.parse(fields["data"] ?? ""),
            };
        }
      }
    } finally {
      incoming.destroy();
    }
  }

  async #fetch(wanted: Request): Promise<Response> {
    const { pathname, search } = new URL(wanted.url);
    const body = wanted.body === null ? undefined : Buffer.from(await wanted.arrayBuffer());
    const incoming = await this.raw(`${pathname}${search}`, {
      method: wanted.method,
      headers: Object.fromEntries(wanted.headers),
      ...(body !== undefined && { body }),
    });
    const headers = new Headers(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    );
    const content = Buffer.concat(await Array.fromAsync(incoming));
    this.#check(wanted.method, pathname, incoming.statusCode ?? 0, content);
    return new Response(content, { status: incoming.statusCode ?? 0, headers });
  }

  #check(method: string, path: string, status: number, content: Buffer): void {
    const operation = operationAt(method, path);
    if (operation === undefined || status >= 400) return;
    this.answered.add(operation.id);
    if (operation.answer.kind === "json") operation.answer.schema.parse(JSON.parse(content.toString()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    if (!this.running.hasEnded) {
      this.running.signal("SIGTERM", "SIGCONT");
      await this.running.ended();
    }
  }
}

function operationAt(method: string, path: string): Operation | undefined {
  return OPERATIONS.find((operation) => {
    const pattern = `^${BASE}${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`;
    return operation.method.toUpperCase() === method && new RegExp(pattern).test(path);
  });
}

/** The whole text of an answer. */
export async function textOf(incoming: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync(incoming)).toString();
}
