import { z } from "zod";

/** Schemas that several tools share. The fields are those of `--json`. */

export const planArgument = z
  .string()
  .optional()
  .describe("The plan: its id, the beginning of its id, or its name. Default: the plan of this server.");

export const resourceArgument = z
  .string()
  .optional()
  .describe("The name of a resource of the plan. Needed only if the plan has several.");

export const pathArgument = z.string().describe("A path inside the resource, relative to it.");

export const planShape = z.object({
  id: z.string(),
  name: z.string(),
  state: z.string(),
  readOnly: z.boolean(),
  createdAt: z.string(),
  resources: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      location: z.string(),
      strategy: z.string(),
      status: z.string(),
      error: z.string().optional(),
      notes: z.array(z.string()).optional(),
      linksOut: z.array(z.object({ path: z.string(), target: z.string() })).optional(),
      // The description keeps the branches apart: some clients refuse a schema with a list of types.
      path: z.union([z.string(), z.null().describe("There is none now.")]),
    }),
  ),
});

export const statsShape = z.object({
  added: z.number(),
  modified: z.number(),
  deleted: z.number(),
  renamed: z.number().optional(),
  insertions: z.number(),
  deletions: z.number(),
});

export const changeShape = z.object({
  resource: z.string(),
  path: z.string(),
  operation: z.string(),
  kind: z.string(),
  from: z.string().optional(),
  binary: z.boolean().optional(),
  statement: z.string().optional(),
  rows: z.number().optional(),
  insertions: z.number().optional(),
  deletions: z.number().optional(),
  warnings: z.array(z.string()).optional(),
});
