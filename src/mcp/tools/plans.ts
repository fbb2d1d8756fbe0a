import { z } from "zod";
import { planArgument, planShape } from "../shapes.ts";
import { tool } from "../tool.ts";

const MOST_PLANS = 50;

const resourceShape = z.object({
  location: z.string().describe("A path, or the URL of a database."),
  name: z.string().exactOptional(),
  type: z.string().exactOptional().describe("Default: found out from the location."),
  strategy: z.string().exactOptional().describe("Default: the strongest that works here."),
});

export const planCreate = tool({
  name: "plan_create",
  title: "Make a plan",
  description:
    "Makes a plan: an isolated copy of folders, files, git checkouts or databases to work in. The originals stay as they are until a person approves the plan and it is applied. Use the other plan_ tools to work in it.",
  input: z.object({
    resources: z.array(resourceShape).min(1),
    name: z.string().optional().describe("A name for people, such as what the plan is for."),
  }),
  output: planShape,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  call: async ({ resources, name }, { services }) =>
    await services.plans.create({ resources, ...(name !== undefined && { name }) }),
});

export const planAdd = tool({
  name: "plan_add",
  title: "Add a resource to a plan",
  description:
    "Takes another folder, file, checkout or database into an open plan, with what commands of the plan wrote there. Use it when a command wrote outside of the plan and that belongs to the work.",
  input: z.object({ plan: planArgument, resource: resourceShape }),
  output: planShape,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  call: async ({ plan, resource }, context) =>
    await context.services.plans.add(await context.planOf(plan), { resources: [resource] }),
});

export const planList = tool({
  name: "plan_list",
  title: "List plans",
  description: `Lists the open plans, newest first; at most ${MOST_PLANS}.`,
  input: z.object({ all: z.boolean().optional().describe("Also plans that are over.") }),
  output: z.object({
    plans: z.array(planShape),
    more: z.number().describe("How many plans are not in this list."),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ all = false }, { services }) => {
    const plans = await services.plans.list({ all });
    return { plans: plans.slice(0, MOST_PLANS), more: Math.max(0, plans.length - MOST_PLANS) };
  },
});

export const planShow = tool({
  name: "plan_show",
  title: "Show a plan",
  description: "Shows a plan: its state, its resources and where their sandboxes are.",
  input: z.object({ plan: planArgument }),
  output: planShape,
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ plan }, context) => await context.services.plans.show(await context.planOf(plan)),
});
