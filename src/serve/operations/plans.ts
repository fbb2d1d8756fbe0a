import { z } from "zod";
import { json } from "../operation.ts";
import { flag, limit, ofPlan, resourceName, text, texts } from "../shapes/parameters.ts";
import { logShape, placeShape, planShape } from "../shapes/plan-shapes.ts";
import { rollbackShape } from "../shapes/update-shapes.ts";

const MOST_RESOURCES = 10_000;

const resourceRequest = z.strictObject({
  location: text.min(1).describe("A path or a URL, or the name of a resource in the config."),
  name: text.exactOptional().describe("Default: the last name of the location."),
  type: text.exactOptional().describe("Default: detected."),
  strategy: text.exactOptional().describe("Default: the strongest that works here."),
  from: text.exactOptional(),
});

const resources = z.array(resourceRequest).min(1).max(MOST_RESOURCES);

/** What a new plan takes. */
export const planMembers = {
  resources,
  name: text.exactOptional(),
  labels: z.record(text, text).exactOptional(),
  allowIrreversible: z.boolean().exactOptional(),
};

export const PLAN_OPERATIONS = [
  json({
    id: "createPlan",
    method: "post",
    path: "/plans",
    summary: "Make a plan and its sandboxes, all or none",
    body: z.strictObject({ ...planMembers, readOnly: z.boolean().exactOptional() }),
    output: planShape,
    status: 201,
    call: async ({ body }, { services }) => await services.plans.create(body),
  }),
  json({
    id: "listPlans",
    method: "get",
    path: "/plans",
    summary: "List the open plans; with all also those that are over",
    query: z.strictObject({
      all: flag,
      label: texts.exactOptional().describe("Only plans with these labels: KEY or KEY=VALUE each."),
      limit: limit.describe("At most so many plans, the newest. Default: all."),
    }),
    output: z.strictObject({ plans: z.array(planShape) }),
    call: async ({ query: { label = [], ...options } }, { services }) => {
      const labels = Object.fromEntries(label.map(wantedLabel));
      return { plans: await services.plans.list({ ...options, labels }) };
    },
  }),
  json({
    id: "showPlan",
    method: "get",
    path: "/plans/{plan}",
    summary: "Show a plan, its resources and their sandboxes",
    parameters: ofPlan,
    output: planShape,
    call: async ({ parameters }, { services }) => await services.plans.show(parameters.plan),
  }),
  json({
    id: "listPlaces",
    method: "get",
    path: "/plans/{plan}/places",
    summary: "Everything that a plan has on this machine and on servers, with its size",
    parameters: ofPlan,
    output: z.strictObject({ planId: z.string(), places: z.array(placeShape) }),
    call: async ({ parameters }, { services }) => {
      const { id } = await services.plans.find(parameters.plan);
      return { planId: id, places: await services.cleanup.places(id) };
    },
  }),
  json({
    id: "addResources",
    method: "post",
    path: "/plans/{plan}/resources",
    summary: "Take more resources into an open plan, all or none, with what its commands wrote there",
    parameters: ofPlan,
    body: z.strictObject({ resources, allowIrreversible: z.boolean().exactOptional() }),
    output: planShape,
    call: async ({ parameters, body }, { services }) => await services.plans.add(parameters.plan, body),
  }),
  json({
    id: "findSandbox",
    method: "get",
    path: "/plans/{plan}/path",
    summary: "Where the sandbox of a resource is: a folder, a file or a connection URL",
    parameters: ofPlan,
    query: z.strictObject({ resource: resourceName }),
    output: z.strictObject({ path: z.string() }),
    call: async ({ parameters, query }, { services }) => ({
      path: await services.plans.path(parameters.plan, query.resource),
    }),
  }),
  json({
    id: "rollBackPlan",
    method: "post",
    path: "/plans/{plan}/rollback",
    summary: "Throw the changes away, or some of them, and keep the plan open",
    parameters: ofPlan,
    body: z.strictObject({
      only: texts.exactOptional().describe("Take only these paths out, [RESOURCE:]PATTERN each."),
      rejected: z.boolean().exactOptional().describe("Take out what votes reject, hunks too."),
    }),
    output: rollbackShape,
    call: async ({ parameters, body }, { services }) => await services.plans.rollback(parameters.plan, body),
  }),
  json({
    id: "cancelPlan",
    method: "post",
    path: "/plans/{plan}/cancel",
    summary: "Throw the changes away, and close the plan",
    parameters: ofPlan,
    body: z.strictObject({
      force: z.boolean().exactOptional().describe("End the detached command that runs in it first."),
    }),
    output: planShape,
    call: async ({ parameters, body }, { services }) => await services.detached.cancel(parameters.plan, body),
  }),
  json({
    id: "showLog",
    method: "get",
    path: "/plans/{plan}/log",
    summary: "Everything that happened to a plan",
    parameters: ofPlan,
    output: logShape,
    call: async ({ parameters }, { services }) => await services.log(parameters.plan),
  }),
];

function wantedLabel(label: string): readonly [string, string | true] {
  const at = label.indexOf("=");
  return at < 0 ? [label, true] : [label.slice(0, at), label.slice(at + 1)];
}
