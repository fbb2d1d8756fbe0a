import { z } from "zod";
import { RESOLUTIONS } from "../../core/values/merge.ts";
import { planShape } from "./plan-shapes.ts";

/** The documents of updates, and of what settles a conflict. */

const planPath = z.strictObject({ resource: z.string(), path: z.string() });

export const updateShape = z
  .strictObject({
    planId: z.string(),
    merged: z.array(planPath),
    marked: z.array(planPath),
    unmerged: z.array(planPath.extend({ why: z.string() })),
    unsupported: z.array(z.strictObject({ resource: z.string(), strategy: z.string() })),
    checkpoint: z.string().optional(),
  })
  .meta({ id: "Update" });

export const resolvedShape = planPath
  .extend({
    planId: z.string(),
    how: z.enum(RESOLUTIONS),
    beside: z.string().optional(),
    checkpoint: z.string(),
  })
  .meta({ id: "Resolved" });

export const rollbackShape = planShape
  .extend({
    part: z
      .strictObject({
        changes: z.number(),
        checkpoint: z.string().describe("It brings these changes back."),
      })
      .optional()
      .describe("If only some changes were taken out."),
  })
  .meta({ id: "RolledBack" });
