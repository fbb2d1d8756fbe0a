import { Socket } from "node:net";
import type { Services } from "../../services.ts";
import { alarm } from "../../system/process/own-bounds.ts";
import { makeApp, Requests } from "../http/app.ts";
import { Guard } from "../http/guard.ts";
import { RequestError } from "../http/problem.ts";
import { listen } from "../http/server.ts";
import { openApiDocument } from "../openapi.ts";
import { ServedCommands } from "../served-commands.ts";
import { channelOperations } from "./channel-operations.ts";
import { ChannelTurns } from "./channel-turns.ts";

/** What a command inside can have under way at once; more connections are closed. */
const MOST_CONNECTIONS = 16;
const MOST_JSON_BYTES = 1024 * 1024;

export interface ChannelOptions {
  readonly services: Services;
  readonly planId: string;
  /** A descriptor that listens, and the connection that it was called by first. */
  readonly listener: number;
  readonly first: number;
  readonly signal: AbortSignal;
}

function notAllowed(): RequestError {
  return new RequestError([403, "NOT_ALLOWED"], "A command inside a plan can't do this.", {
    hint: "Ask the person outside. GET /v1/openapi.json has all that can be done here.",
  });
}

/** Answers commands inside until the signal is aborted. */
export async function serveChannel({
  services,
  planId,
  listener,
  first,
  signal,
}: ChannelOptions): Promise<void> {
  const requests = new Requests();
  const turns = new ChannelTurns(alarm);
  const operations = channelOperations(planId, turns);
  const app = makeApp({
    ...{ services, operations, requests, mostJsonBytes: MOST_JSON_BYTES },
    document: () => openApiDocument(operations),
    unknown: notAllowed,
    // No operation of a channel tells it.
    version: "",
    inside: true,
    commands: new ServedCommands(),
    guard: new Guard({ hosts: ["localhost"] }),
    stopping: signal,
    // The caller hears that it is a defect. Nothing that it wrote goes to the user's terminal.
    onDefect: () => undefined,
  });
  const bounds = { connections: MOST_CONNECTIONS, requestsOfConnection: 1 };
  const server = await listen(app, { descriptor: listener }, bounds);
  try {
    server.take(new Socket({ fd: first }));
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    server.stop();
    await turns.ended();
  } finally {
    await server.close();
  }
}
