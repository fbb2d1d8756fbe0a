import assert from "node:assert/strict";
import { Client as NewClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { program, type Workplace } from "../end-to-end/workplace.ts";

/** The clients that agents are built with: both majors of the SDK, and the newer one in either era. */
export const CLIENTS = ["v1", "v2 in the era of 2025", "v2 in the era of 2026"] as const;
export type ClientKind = (typeof CLIENTS)[number];

/** The tools of the server, in their order. */
export const TOOLS = [
  "plan_create",
  "plan_add",
  "plan_list",
  "plan_show",
  "plan_exec",
  "plan_read",
  "plan_write",
  "plan_sql",
  "plan_diff",
  "plan_checkpoint",
  "plan_restore",
  "plan_update",
  "plan_resolve",
  "plan_request_review",
  "plan_apply",
];

/** What a tool answered. */
export interface Answer {
  readonly isError: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests look at
  readonly data: any;
}

/** A client of `drydock mcp`, which it starts; both end when it goes out of scope (`await using`). */
export class McpClient implements AsyncDisposable {
  readonly #client: NewClient | OldClient;
  readonly pid: number;

  private constructor(client: NewClient | OldClient, pid: number) {
    this.#client = client;
    this.pid = pid;
  }

  static async start(
    place: Workplace,
    args: readonly string[] = [],
    kind: ClientKind = "v2 in the era of 2026",
  ): Promise<McpClient> {
    const server = {
      command: program,
      args: ["mcp", ...args],
      cwd: place.path,
      env: Object.fromEntries(
        Object.entries(place.environment).filter((pair): pair is [string, string] => pair[1] !== undefined),
      ),
    };
    const info = { name: "test", version: "1" };
    if (kind === "v1") {
      const client = new OldClient(info);
      const transport = new OldTransport(server);
      await client.connect(transport);
      return new McpClient(client, transport.pid ?? 0);
    }
    const mode = kind === "v2 in the era of 2025" ? "legacy" : { pin: "2026-07-28" };
    const client = new NewClient(info, { versionNegotiation: { mode } });
    const transport = new NewTransport(server);
    await client.connect(transport);
    return new McpClient(client, transport.pid ?? 0);
  }

  async tools(): Promise<readonly { readonly name: string; readonly outputSchema?: unknown }[]> {
    return (await this.#client.listTools()).tools;
  }

  async call(name: string, args: { readonly [name: string]: unknown } = {}): Promise<Answer> {
    const result = (await this.#client.callTool({ name, arguments: { ...args } })) as {
      isError?: boolean;
      content: { text?: string }[];
      structuredContent?: unknown;
    };
    const text = result.content.map((part) => part.text ?? "").join("");
    return { isError: result.isError === true, text, data: result.structuredContent };
  }

  /** The same, and it must succeed. */
  async done(name: string, args: { readonly [name: string]: unknown } = {}): Promise<Answer["data"]> {
    const { isError, text, data } = await this.call(name, args);
    assert.equal(isError, false, text);
    return data;
  }

  async resource(uri: string): Promise<string> {
    const { contents } = await this.#client.readResource({ uri });
    return contents.map((part) => ("text" in part ? part.text : "")).join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}
