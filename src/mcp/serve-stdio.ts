import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { makeMcpServer } from "./mcp-server.ts";
import { RunningCommands } from "./running-commands.ts";
import type { ToolContext } from "./tool.ts";

export interface StdioOptions extends Omit<ToolContext, "commands"> {
  readonly version: string;
  /** Aborting it ends the server. */
  readonly signal: AbortSignal;
  /** Called with what went wrong between the server and its client. */
  readonly onError: (error: Error) => void;
}

/**
 * Serves one client on standard input and output until it goes away or `signal` is aborted. Clients of the
 * 2025 protocol and of the stateless one of 2026 are both served. The client's commands end with it.
 */
export async function serveOnStdio({ version, signal, onError, ...context }: StdioOptions): Promise<void> {
  await using commands = new RunningCommands();
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const transport = new StdioServerTransport();
  const handle = serveStdio(() => makeMcpServer({ ...context, commands }, version), {
    transport,
    onerror: onError,
  });
  // The client closes its end, also before it has said anything.
  process.stdin.once("end", resolve);
  process.stdin.once("close", resolve);
  const stop = () => resolve();
  signal.addEventListener("abort", stop);
  if (signal.aborted) resolve();
  try {
    await over;
  } finally {
    signal.removeEventListener("abort", stop);
    await handle.close();
  }
}
