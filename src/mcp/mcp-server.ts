import { McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { MOST_CHARACTERS } from "./capped.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { planCheckpoint, planDiff, planRestore } from "./tools/changes.ts";
import { planExec } from "./tools/commands.ts";
import { planRead, planSql, planWrite } from "./tools/files.ts";
import { planApply, planRequestReview } from "./tools/landing.ts";
import { planResolve, planUpdate } from "./tools/merging.ts";
import { planAdd, planCreate, planList, planShow } from "./tools/plans.ts";

/**
 * Drydock for agents, by the Model Context Protocol. An agent works in plans and asks for a review; no tool
 * approves, so what lands is a person's decision.
 */

const INSTRUCTIONS =
  "Drydock gives you an isolated copy of folders, checkouts and databases. Make a plan with plan_create, work in it with plan_exec, plan_read, plan_write and plan_sql, look at plan_diff, then ask for a review with plan_request_review. Only a person can approve; then plan_apply lands all of it or nothing. Do not change the originals by other tools.";

/** In the order in which clients list them, which stays the same. */
export const TOOLS: readonly Tool[] = [
  planCreate,
  planAdd,
  planList,
  planShow,
  planExec,
  planRead,
  planWrite,
  planSql,
  planDiff,
  planCheckpoint,
  planRestore,
  planUpdate,
  planResolve,
  planRequestReview,
  planApply,
];

/** Fifty results: a client that reads a resource wants all of it. */
const MOST_PATCH = 50 * MOST_CHARACTERS;

export function makeMcpServer(context: ToolContext, version: string): McpServer {
  const server = new McpServer({ name: "drydock", version }, { instructions: INSTRUCTIONS });
  for (const tool of TOOLS) {
    if (tool === planApply && context.allowApply === "never") continue;
    tool.register(server, context);
  }
  registerPatches(server, context);
  return server;
}

function registerPatches(server: McpServer, { services }: ToolContext): void {
  server.registerResource(
    "patch",
    new ResourceTemplate("drydock://plans/{plan}/patch/{+path}", { list: undefined }),
    { title: "The changes of a path, as a unified diff", mimeType: "text/x-diff" },
    async (uri, { plan, path }) => {
      const pieces: string[] = [];
      let length = 0;
      for await (const piece of services.plans.patch(String(plan), {
        paths: [String(path)],
        onlyText: true,
      })) {
        pieces.push(piece);
        length += piece.length;
        if (length > MOST_PATCH) {
          pieces.push(`\n[… cut after ${MOST_PATCH} characters …]\n`);
          break;
        }
      }
      const text = pieces.join("").toWellFormed();
      return { contents: [{ uri: uri.href, mimeType: "text/x-diff", text }] };
    },
  );
}
