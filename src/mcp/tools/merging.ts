import { z } from "zod";
import { RESOLUTIONS } from "../../core/values/merge.ts";
import { pathArgument, planArgument, resourceArgument } from "../shapes.ts";
import { tool } from "../tool.ts";

const pathsShape = z.array(z.object({ resource: z.string(), path: z.string() }));

export const planUpdate = tool({
  name: "plan_update",
  title: "Merge what others changed",
  description:
    "Merges what others changed meanwhile in the originals into the plan; the originals stay as they are. Call it when plan_apply names conflicts. Edit the markers in marked files away, and settle unmerged paths with plan_resolve.",
  input: z.object({ plan: planArgument }),
  output: z.object({
    planId: z.string(),
    merged: pathsShape,
    marked: pathsShape.describe("Files with conflict markers. They land once the markers are gone."),
    unmerged: z.array(z.object({ resource: z.string(), path: z.string(), why: z.string() })),
    unsupported: z
      .array(z.object({ resource: z.string(), strategy: z.string() }))
      .describe("Resources that can't be merged: a conflict there shows when the plan lands."),
    checkpoint: z.string().optional().describe("plan_restore takes the update back by it."),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  call: async ({ plan }, { services, planOf }) => await services.updates.update(await planOf(plan)),
});

export const planResolve = tool({
  name: "plan_resolve",
  title: "Settle a conflict",
  description:
    "Settles a path that plan_update marked or could not merge: with the plan's version, with that of the original, or with both.",
  input: z.object({
    plan: planArgument,
    resource: resourceArgument,
    path: pathArgument,
    how: z.enum(RESOLUTIONS).describe("ours: the plan's version. theirs: the original's."),
  }),
  output: z.object({
    planId: z.string(),
    resource: z.string(),
    path: z.string(),
    how: z.enum(RESOLUTIONS),
    beside: z.string().optional().describe("Where the plan's version is, if both were kept."),
    checkpoint: z.string().describe("plan_restore takes it back by it."),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  call: async ({ plan, resource, path, how }, { services, planOf }) =>
    await services.updates.resolve(await planOf(plan), {
      ...{ path, how },
      ...(resource !== undefined && { resource }),
    }),
});
