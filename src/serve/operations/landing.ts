import { z } from "zod";
import { RESOLUTIONS } from "../../core/values/merge.ts";
import { assertPerson, json } from "../operation.ts";
import { abandonShape, recoveryShape } from "../shapes/machine-shapes.ts";
import { nothing, ofPlan, path, resourceName, text, texts } from "../shapes/parameters.ts";
import { applyShape, approvalShape, statsShape } from "../shapes/plan-shapes.ts";
import { resolvedShape, updateShape } from "../shapes/update-shapes.ts";

const yes = z.boolean().exactOptional();

export const LANDING_OPERATIONS = [
  json({
    id: "applyPlan",
    method: "post",
    path: "/plans/{plan}/apply",
    summary: "Land everything, or nothing",
    parameters: ofPlan,
    body: z.strictObject({
      message: text.exactOptional().describe("The reason, recorded with the plan."),
      digest: text.exactOptional().describe("Land only exactly what a diff showed with this digest."),
      approved: yes.describe("Land only exactly what was approved."),
      approvedPart: yes.describe("Land exactly the changes and hunks that votes approve; the rest stays."),
      only: texts.exactOptional().describe("Land only these paths, [RESOURCE:]PATTERN each."),
      allow: texts.exactOptional().describe("Files that may land although tools run them by themselves."),
      check: texts.exactOptional().describe("Commands that must succeed inside the sandboxes first."),
      checks: yes.describe("Whether the checks of the configuration run. Default: true."),
      squash: yes.describe("Land the commits of a git checkout as one."),
      dryRun: yes,
      allowIrreversible: yes,
      afterRestart: yes,
      update: yes.describe("First merge what other writers changed meanwhile; land only if all of it was."),
    }),
    output: applyShape,
    call: async ({ parameters, body }, { services }) => await services.plans.apply(parameters.plan, body),
  }),
  json({
    id: "updatePlan",
    method: "post",
    path: "/plans/{plan}/update",
    summary: "Merge into the plan what other writers changed meanwhile",
    parameters: ofPlan,
    body: nothing,
    output: updateShape,
    call: async ({ parameters }, { services }) => await services.updates.update(parameters.plan),
  }),
  json({
    id: "resolvePath",
    method: "post",
    path: "/plans/{plan}/resolve",
    summary: "Settle a path that an update marked or could not merge",
    parameters: ofPlan,
    body: z.strictObject({ resource: resourceName, path, how: z.enum(RESOLUTIONS) }),
    output: resolvedShape,
    call: async ({ parameters, body }, { services }) => await services.updates.resolve(parameters.plan, body),
  }),
  json({
    id: "undoPlan",
    method: "post",
    path: "/plans/{plan}/undo",
    summary: "Take the last landing back, as a whole or not at all",
    parameters: ofPlan,
    body: z.strictObject({
      leave: z
        .array(z.string())
        .exactOptional()
        .describe("Resources that may stay as they landed, because they can't be taken back."),
    }),
    output: applyShape,
    call: async ({ parameters, body }, { services }) => await services.plans.undo(parameters.plan, body),
  }),
  json({
    id: "requestReview",
    method: "post",
    path: "/plans/{plan}/review",
    summary: "Ask a person to review exactly what would land now",
    parameters: ofPlan,
    body: z.strictObject({ message: text.exactOptional() }),
    output: z.strictObject({
      planId: z.string(),
      digest: z.string(),
      stats: statsShape,
      approval: approvalShape.optional(),
    }),
    call: async ({ parameters, body }, { services }) =>
      await services.plans.requestReview(parameters.plan, body),
  }),
  json({
    id: "approvePlan",
    method: "post",
    path: "/plans/{plan}/approve",
    summary: "Record the user's approval of exactly what has this digest",
    parameters: ofPlan,
    body: z.strictObject({ digest: text.min(1), allow: texts.exactOptional() }),
    output: approvalShape,
    call: async ({ parameters, body }, context) => {
      const via = assertPerson(context);
      return await context.services.plans.approve(parameters.plan, { ...body, via });
    },
  }),
  json({
    id: "showApproval",
    method: "get",
    path: "/plans/{plan}/approval",
    summary: "The last approval; it is void once a diff gives another digest",
    parameters: ofPlan,
    output: z.strictObject({ approval: approvalShape.nullable() }),
    call: async ({ parameters }, { services }) => ({
      approval: (await services.plans.approval(parameters.plan)) ?? null,
    }),
  }),
  json({
    id: "settlePlan",
    method: "post",
    path: "/plans/{plan}/settle",
    summary: "Settle a plan in doubt: it did land, or it did not",
    parameters: ofPlan,
    body: z.strictObject({ how: z.enum(["commit", "abort"]) }),
    output: recoveryShape,
    call: async ({ parameters, body }, { services }) => await services.settle(parameters.plan, body.how),
  }),
  json({
    id: "abandonPlan",
    method: "post",
    path: "/plans/{plan}/abandon",
    summary: "End a plan as it is, and list what may remain of it",
    parameters: ofPlan,
    body: nothing,
    output: abandonShape,
    call: async ({ parameters }, { services }) => await services.abandon(parameters.plan),
  }),
  json({
    id: "recover",
    method: "post",
    path: "/recover",
    summary: "Finish or undo what dead processes left",
    body: nothing,
    output: recoveryShape,
    call: async (_, { services }) => await services.recover(),
  }),
];
