import { z } from "zod";
import type { Approval } from "../../plans/review/approval-views.ts";
import type { ReviewComment } from "../../plans/review/review-views.ts";
import { planArgument, statsShape } from "../shapes.ts";
import { tool } from "../tool.ts";

const STATUSES = ["waiting", "approved", "void"] as const;

const MOST_COMMENTS = 50;
const WORK_ON = "A person asked for changes: make them, then ask for a review again.";

function commentOf({ resource, path, side, line, text, actor }: ReviewComment) {
  return { resource, path, side, line, text, by: actor };
}

function statusOf(approval: Approval | undefined, digest: string): (typeof STATUSES)[number] {
  if (approval === undefined) return "waiting";
  return approval.digest === digest ? "approved" : "void";
}

export const planRequestReview = tool({
  name: "plan_request_review",
  title: "Ask for a review",
  description:
    "Asks a person to look at what the plan would change, and says whether it is approved. Call it when the work is done, tell the user what it answers, and call it again to see whether the approval is there.",
  input: z.object({
    plan: planArgument,
    message: z.string().optional().describe("What the work is, for the person and the log."),
  }),
  output: z.object({
    planId: z.string(),
    digest: z.string(),
    stats: statsShape,
    status: z
      .enum(STATUSES)
      .describe("void: it was approved, and changed since. Only an approval of this digest counts."),
    approvedBy: z.string().optional(),
    changesAsked: z
      .object({ by: z.string(), message: z.string().optional(), isOfThis: z.boolean() })
      .optional()
      .describe("The last verdict, if a person asked for changes. isOfThis: nothing changed since."),
    comments: z
      .array(
        z.object({
          resource: z.string().optional(),
          path: z.string().optional(),
          side: z.string().optional(),
          line: z.number().optional(),
          text: z.string(),
          by: z.string(),
        }),
      )
      .describe("What persons said about the changes, and is not settled; the last 50."),
    next: z.string().describe("What has to be done now, and by whom."),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  call: async ({ plan, message }, { services, planOf }) => {
    const { planId, digest, stats, approval } = await services.plans.requestReview(await planOf(plan), {
      ...(message !== undefined && { message }),
    });
    const { verdict, comments } = await (await services.reviews()).show(planId);
    const open = comments.filter(({ resolved, via }) => resolved === undefined && via !== "program");
    const status = statusOf(approval, digest);
    const next =
      status === "approved"
        ? "It is approved: call plan_apply."
        : `A person has to look at it and approve it, at a terminal: drydock approve ${planId}`;
    return {
      ...{ planId, digest, stats, status, approvedBy: approval?.actor },
      ...(verdict?.verdict === "changes asked" && {
        changesAsked: { by: verdict.actor, message: verdict.message, isOfThis: verdict.digest === digest },
      }),
      comments: open.slice(-MOST_COMMENTS).map(commentOf),
      next: verdict?.verdict === "changes asked" && verdict.digest === digest ? WORK_ON : next,
    };
  },
});

export const planApply = tool({
  name: "plan_apply",
  title: "Land the plan",
  description:
    "Lands everything that the plan changes in the originals, or nothing. It lands only exactly what a person approved, unless the user started this server with another rule; call plan_request_review first.",
  input: z.object({
    plan: planArgument,
    message: z.string().optional().describe("The reason, recorded with the plan."),
  }),
  output: z.object({
    planId: z.string(),
    state: z.string(),
    participants: z.array(
      z.object({ resource: z.string(), strategy: z.string(), outcome: z.string(), changes: z.number() }),
    ),
    attention: z.array(z.object({ resource: z.string(), path: z.string(), message: z.string() })),
    warnings: z.array(z.string()),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  call: async ({ plan, message }, { services, planOf, allowApply }) => {
    return await services.plans.apply(await planOf(plan), {
      approved: allowApply !== "always",
      ...(message !== undefined && { message }),
    });
  },
});
