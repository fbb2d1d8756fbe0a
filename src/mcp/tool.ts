import type { CallToolResult, McpServer, ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod";
import { DrydockError, messageOf } from "../core/errors/errors.ts";
import type { Services } from "../services.ts";
import { agentHint } from "./agent-hints.ts";
import type { RunningCommands } from "./running-commands.ts";

/**
 * May an agent land its work? `never`: it has no tool for that. `approved`: only what a person approved,
 * under that very digest. `always`: whatever it likes, by the word of the user who started the server.
 */
export const ALLOW_APPLY = ["never", "approved", "always"] as const;
export type AllowApply = (typeof ALLOW_APPLY)[number];

/** What every tool works with. */
export interface ToolContext {
  readonly services: Services;
  /** The plan that a call means: the one that it names, else that of the server, if it has one. */
  planOf(named: string | undefined): Promise<string | undefined>;
  readonly allowApply: AllowApply;
  readonly commands: RunningCommands;
}

/** One call of a tool. */
export interface ToolCall extends ToolContext {
  /** Aborted if the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Tells the client that the call goes on, if the client asked for that. */
  progress(message: string): Promise<void>;
}

/** A tool: its schemas say what goes in and what comes out. */
export interface ToolDefinition<In extends z.ZodObject, Out extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For the model: what the tool does, and when to use it. */
  readonly description: string;
  readonly input: In;
  readonly output: Out;
  readonly annotations: ToolAnnotations;
  call(input: z.output<In>, call: ToolCall): Promise<Frozen<z.input<Out>>>;
}

/** The same, with nothing in it that could be changed. */
type Frozen<T> = T extends object ? { readonly [key in keyof T]: Frozen<T[key]> } : T;

export interface Tool {
  readonly name: string;
  register(server: McpServer, context: ToolContext): void;
}

export function tool<In extends z.ZodObject, Out extends z.ZodObject>(
  definition: ToolDefinition<In, Out>,
): Tool {
  const { name, title, description, annotations } = definition;
  const schemas: { readonly inputSchema: z.ZodObject; readonly outputSchema: z.ZodObject } = {
    inputSchema: definition.input,
    outputSchema: definition.output,
  };
  const config = { title, description, annotations, ...schemas };
  return {
    name,
    register: (server, context) => {
      server.registerTool(name, config, async (given: unknown, { mcpReq }) => {
        const { progressToken } = mcpReq._meta ?? {};
        let steps = 0;
        const progress = async (message: string): Promise<void> => {
          if (progressToken === undefined) return;
          steps += 1;
          const params = { progressToken, progress: steps, message };
          await mcpReq.notify({ method: "notifications/progress", params });
        };
        const call = { ...context, signal: mcpReq.signal, progress };
        return await answer(async () =>
          schemas.outputSchema.parse(await definition.call(definition.input.parse(given), call)),
        );
      });
    },
  };
}

/**
 * The result of a call. What fails is a result too, with a sentence for the model: it can mend its call, or
 * tell the user.
 */
async function answer(work: () => Promise<{ [key: string]: unknown }>): Promise<CallToolResult> {
  try {
    const structuredContent = await work();
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  } catch (thrown) {
    return { isError: true, content: [{ type: "text", text: errorText(thrown) }] };
  }
}

function errorText(thrown: unknown): string {
  if (!(thrown instanceof DrydockError)) return `This is a defect of Drydock: ${messageOf(thrown)}`;
  const { code, message, details } = thrown;
  const facts = Object.keys(details).length === 0 ? [] : [JSON.stringify(details)];
  return [`${message} (${code})`, agentHint(thrown), ...facts].filter((line) => line !== "").join("\n");
}
