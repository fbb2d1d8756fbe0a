import { z } from "zod";
import { diffPage } from "../../plans/diff-page.ts";
import { summaryOf } from "../../plans/review/change-summary.ts";
import { bytes, json } from "../operation.ts";
import { limit, nothing, ofPlan, paths, text } from "../shapes/parameters.ts";
import { checkpointShape, diffShape, scratchShape, summaryShape } from "../shapes/plan-shapes.ts";

const checkpoint = text
  .min(1)
  .exactOptional()
  .describe("Look into this checkpoint instead: its id, the beginning of its id, or its label.");

export const CHANGE_OPERATIONS = [
  json({
    id: "diffPlan",
    method: "get",
    path: "/plans/{plan}/diff",
    summary: "A page of what would change, with the digest of all of it",
    parameters: ofPlan,
    query: z.strictObject({
      ...{ paths, checkpoint },
      cursor: text.exactOptional().describe("The next of an earlier page."),
      limit: limit.describe("The most changes of a page. Default: 1,000."),
    }),
    output: diffShape,
    call: async ({ parameters, query }, { services }) =>
      await diffPage(services.plans, parameters.plan, query),
  }),
  json({
    id: "summarizeDiff",
    method: "get",
    path: "/plans/{plan}/summary",
    summary: "What would change by folders, in a few entries however much it is",
    parameters: ofPlan,
    query: z.strictObject({ paths, checkpoint }),
    output: summaryShape,
    call: async ({ parameters, query }, { services }) =>
      await summaryOf(services.plans, parameters.plan, query),
  }),
  bytes({
    id: "patchPlan",
    method: "get",
    path: "/plans/{plan}/patch",
    summary: "The changes themselves, as a unified diff",
    type: "text/x-diff",
    parameters: ofPlan,
    query: z.strictObject({ paths, checkpoint }),
    call: async ({ parameters, query }, { services }) => ({
      content: services.plans.patch(parameters.plan, query),
    }),
  }),
  json({
    id: "listScratch",
    method: "get",
    path: "/plans/{plan}/scratch",
    summary: "What commands wrote outside of the plan; it never lands",
    parameters: ofPlan,
    output: scratchShape,
    call: async ({ parameters }, { services }) => await services.scratch.list(parameters.plan),
  }),
  bytes({
    id: "patchScratch",
    method: "get",
    path: "/plans/{plan}/scratch/patch",
    summary: "What commands wrote outside of the plan, as a unified diff",
    type: "text/x-diff",
    parameters: ofPlan,
    query: z.strictObject({ paths }),
    call: async ({ parameters, query }, { services }) => ({
      content: services.scratch.patch(parameters.plan, query.paths),
    }),
  }),
  json({
    id: "saveCheckpoint",
    method: "post",
    path: "/plans/{plan}/checkpoints",
    summary: "Save the state of all sandboxes",
    parameters: ofPlan,
    body: z.strictObject({ label: text.exactOptional() }),
    output: checkpointShape.extend({ planId: z.string(), warnings: z.array(z.string()) }).meta({ id: "" }),
    status: 201,
    call: async ({ parameters, body }, { services }) =>
      await services.checkpoints.checkpoint(parameters.plan, body),
  }),
  json({
    id: "listCheckpoints",
    method: "get",
    path: "/plans/{plan}/checkpoints",
    summary: "List the saved states",
    parameters: ofPlan,
    output: z.strictObject({ planId: z.string(), checkpoints: z.array(checkpointShape) }),
    call: async ({ parameters }, { services }) => {
      const { id } = await services.plans.find(parameters.plan);
      return { planId: id, checkpoints: await services.checkpoints.list(id) };
    },
  }),
  json({
    id: "restoreCheckpoint",
    method: "post",
    path: "/plans/{plan}/checkpoints/{checkpoint}/restore",
    summary: "Bring all sandboxes back to a saved state",
    parameters: ofPlan.extend({
      checkpoint: text.min(1).describe("Its id, the beginning of its id, or its label."),
    }),
    body: nothing,
    output: z.strictObject({
      planId: z.string(),
      checkpoint: checkpointShape,
      dropped: z.array(z.string()),
      warnings: z.array(z.string()),
    }),
    call: async ({ parameters }, { services }) =>
      await services.checkpoints.restore(parameters.plan, parameters.checkpoint),
  }),
];
