import { z } from "zod";
import { UsageError } from "../../core/errors/errors.ts";
import { pathFromBytes } from "../../core/paths/byte-path.ts";
import type { DatabaseValue } from "../../core/values/query.ts";
import { MOST_CHARACTERS } from "../capped.ts";
import { changeShape, pathArgument, planArgument, resourceArgument } from "../shapes.ts";
import { tool } from "../tool.ts";

const MOST_ROWS = 200;

export const planRead = tool({
  name: "plan_read",
  title: "Read a file",
  description: `Reads one file as it is in the plan, at most ${MOST_CHARACTERS} bytes at once; offset reads on.`,
  input: z.object({
    plan: planArgument,
    resource: resourceArgument,
    path: pathArgument,
    offset: z.int().min(0).optional().describe("The first byte. Default: 0."),
    length: z.int().min(1).max(MOST_CHARACTERS).optional(),
  }),
  output: z.object({
    size: z.number().describe("The size of the whole file."),
    offset: z.number(),
    text: z.string().optional(),
    base64: z.string().optional().describe("Instead of a text, if the bytes are none."),
    next: z.number().optional().describe("The offset of the rest, if there is more."),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ plan, resource, path, offset = 0, length = MOST_CHARACTERS }, context) => {
    const all = await context.services.plans.read(await context.planOf(plan), resource, path);
    const bytes = Buffer.from(all.subarray(offset, offset + length));
    const end = offset + bytes.length;
    const isText = !bytes.includes(0);
    return {
      ...{ size: all.length, offset },
      ...(isText ? { text: pathFromBytes(bytes) } : { base64: bytes.toString("base64") }),
      ...(end < all.length && { next: end }),
    };
  },
});

export const planWrite = tool({
  name: "plan_write",
  title: "Write a file",
  description: "Writes one whole file in the plan, and makes missing folders. The original is not touched.",
  input: z.object({
    plan: planArgument,
    resource: resourceArgument,
    path: pathArgument,
    text: z.string().optional().describe("The new content."),
    base64: z.string().optional().describe("The new content, if it is no text."),
  }),
  output: changeShape.omit({ resource: true }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  call: async ({ plan, resource, path, text, base64 }, context) => {
    if ((text === undefined) === (base64 === undefined))
      throw new UsageError("The content is missing, or given twice.", { hint: "Give text or base64." });
    const bytes = text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text);
    return await context.services.plans.write(await context.planOf(plan), resource, path, bytes);
  },
});

const valueShape = z
  .union([z.string(), z.number(), z.null(), z.object({ base64: z.string() })])
  .describe("A number that JSON readers would round is a text.");

/** Most readers of JSON have no integers beyond 2^53, and JSON has no infinity. */
function exactValue(value: DatabaseValue): z.input<typeof valueShape> {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
  const isExact = typeof value !== "bigint" && (typeof value !== "number" || Number.isFinite(value));
  return isExact ? value : String(value);
}

export const planSql = tool({
  name: "plan_sql",
  title: "Run SQL",
  description: `Runs SQL statements in the plan's copy or transaction of a database; at most ${MOST_ROWS} rows of each come back.`,
  input: z.object({ plan: planArgument, resource: resourceArgument, script: z.string() }),
  output: z.object({
    results: z.array(
      z.object({
        columns: z.array(z.string()),
        rows: z.array(z.array(valueShape)),
        changes: z.number().describe("How many rows the statement changed."),
        more: z.number().describe("How many rows are not in this list."),
      }),
    ),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  call: async ({ plan, resource, script }, context) => {
    const results = await context.services.plans.sql(await context.planOf(plan), resource, script);
    return {
      results: results.map(({ columns, rows, changes }) => ({
        columns,
        rows: rows.slice(0, MOST_ROWS).map((row) => row.map(exactValue)),
        changes,
        more: Math.max(0, rows.length - MOST_ROWS),
      })),
    };
  },
});
