import { createMcpHandler } from "@modelcontextprotocol/server";
import { makeMcpServer } from "../mcp/mcp-server.ts";
import { RunningCommands } from "../mcp/running-commands.ts";
import type { AllowApply } from "../mcp/tool.ts";
import { makeApp, Requests } from "./http/app.ts";
import { Guard, type GuardOptions } from "./http/guard.ts";
import { type ListenAddress, listen } from "./http/server.ts";
import type { ServeContext } from "./operation.ts";
import { ServedCommands } from "./served-commands.ts";

export interface ServeOptions extends Omit<ServeContext, "commands">, GuardOptions {
  readonly place: ListenAddress;
  /** What agents may land by /mcp. */
  readonly allowApply: AllowApply;
  /** Aborting it stops the server: what is decided is finished, and answered. */
  readonly signal: AbortSignal;
  readonly onListening: (at: { readonly port: number | undefined }) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Serves the API until the signal is aborted. The same signal interrupts the services, so operations that are
 * not decided end, and clients get their answers; streams end, and so do commands.
 */
export async function serve({
  place,
  signal,
  onListening,
  onError,
  ...options
}: ServeOptions): Promise<void> {
  const { services, version, allowApply } = options;
  await using agents = new RunningCommands();
  const mcp = createMcpHandler(
    () => makeMcpServer({ services, allowApply, commands: agents, planOf: async (named) => named }, version),
    { onerror: onError },
  );
  const requests = new Requests();
  const app = makeApp({
    ...options,
    requests,
    commands: new ServedCommands(),
    guard: new Guard(options),
    stopping: signal,
    mcp: (request) => mcp.fetch(request),
    onDefect: onError,
  });
  const server = await listen(app, place);
  try {
    onListening(server);
    await aborted(signal);
    server.stop();
    await mcp.close();
    await requests.allEnded();
  } finally {
    await server.close();
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
