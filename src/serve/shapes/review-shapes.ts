import { z } from "zod";
import { CHANGE_SIDES } from "../../core/change.ts";
import { VOTES } from "../../plans/review/review-views.ts";
import { text } from "./parameters.ts";
import { changeShape, diffShape } from "./plan-shapes.ts";

/** The documents of reviews. */

const digest = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe("The digest of a change, as reviewChanges gives it.");

/** Which changes a reviewer means. */
export const targets = {
  targets: z
    .array(
      z.strictObject({
        resource: text.exactOptional().describe("Default: all resources."),
        path: text.exactOptional().describe("Without a digest: everything at or below it. Default: '.'."),
        digest: digest.exactOptional(),
        hunk: text.exactOptional().describe("The id of one hunk of the change with this digest."),
      }),
    )
    .min(1)
    .max(10_000),
  digest: text
    .exactOptional()
    .describe("The digest of the whole diff; needed by targets without one of their own."),
};

export const side = z.enum(CHANGE_SIDES);

/** Where a comment belongs. */
export const commentTarget = {
  resource: text.exactOptional(),
  path: text.exactOptional(),
  side: side.exactOptional().describe("The side that the line is counted on. Default: after."),
  line: z.int().min(1).exactOptional(),
  digest: digest.exactOptional(),
};

export const commentShape = z
  .strictObject({
    id: z.string(),
    text: z.string(),
    resource: z.string().optional(),
    path: z.string().optional(),
    side: side.optional(),
    line: z.number().optional(),
    digest: z.string().optional(),
    actor: z.string(),
    at: z.string(),
    via: z.string(),
    editedAt: z.string().optional(),
    resolved: z.strictObject({ actor: z.string(), at: z.string() }).optional(),
  })
  .meta({ id: "Comment" });

export const verdictShape = z
  .strictObject({
    verdict: z.enum(["approved", "changes asked"]),
    digest: z.string(),
    message: z.string().optional(),
    via: z.string(),
    actor: z.string(),
    at: z.string(),
  })
  .meta({ id: "Verdict" });

export const reviewShape = z
  .strictObject({
    planId: z.string(),
    asked: z
      .strictObject({
        digest: z.string(),
        message: z.string().optional(),
        actor: z.string(),
        at: z.string(),
      })
      .optional(),
    verdict: verdictShape.optional().describe("Void once a diff gives another digest."),
    comments: z.array(commentShape),
  })
  .meta({ id: "Review" });

const vote = z.enum(VOTES);

export const reviewPageShape = diffShape
  .extend({
    changes: z.array(
      changeShape
        .extend({
          resource: z.string(),
          digest: z.string().describe("Of this change alone. A vote binds to it."),
          vote: vote.optional(),
          hunks: z.record(z.string(), vote).optional().describe("Votes on single hunks, by their id."),
          seen: z.boolean().describe("Whether the user has looked at it as it is now."),
        })
        .meta({ id: "ReviewedChange" }),
    ),
    votes: z.strictObject({
      approved: z.number(),
      rejected: z.number(),
      partly: z.number(),
      open: z.number(),
    }),
    unseen: z.number(),
  })
  .meta({ id: "ReviewPage" });

export const countShape = z.strictObject({ planId: z.string(), changes: z.number() });

export const hunksShape = z
  .strictObject({
    planId: z.string(),
    digest: z.string().describe("Of the change."),
    hunks: z.array(
      z.strictObject({
        id: z.string(),
        oldStart: z.number(),
        oldLines: z.number(),
        newStart: z.number(),
        newLines: z.number(),
        lines: z.array(z.string()).describe("As in a patch, with a sign before each."),
        vote: vote.optional(),
      }),
    ),
  })
  .meta({ id: "Hunks" });

const shownValue = z
  .strictObject({
    type: z.enum(["null", "integer", "real", "text", "bytes"]),
    text: z.string().describe("As people read it; bytes in hex. Only its beginning, if size is there."),
    size: z.number().optional().describe("How many bytes the value has, if not all are shown."),
  })
  .meta({ id: "ShownValue" });
const values = z
  .array(shownValue.nullable())
  .optional()
  .describe("A place for each column; null where this side lacks the column.");

export const changedRowsShape = z
  .strictObject({
    planId: z.string(),
    definitions: z
      .array(
        z.strictObject({
          type: z.string().describe("table, index, view, trigger, number or statistics"),
          before: shownValue.optional(),
          after: shownValue.optional(),
        }),
      )
      .describe("The definitions that differ."),
    columns: z.array(
      z.strictObject({
        name: z.string(),
        isKey: z.boolean().describe("Whether the rows are told apart by it."),
        only: side.optional().describe("The only side that has it."),
      }),
    ),
    rows: z.array(
      z.strictObject({
        path: z.string(),
        operation: z.enum(["added", "modified", "deleted"]),
        before: values,
        after: values,
        changed: z.array(z.number()).describe("The columns that differ, counted from 0; exact."),
      }),
    ),
    total: z.number().describe("How many rows change in all."),
    same: z.number().describe("How many rows of an altered table stay as they are."),
    digest: z.string().describe("Of all of it, on all pages."),
    next: z.string().optional(),
  })
  .meta({ id: "ChangedRows" });
