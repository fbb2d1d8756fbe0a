import { z } from "zod";
import { knownType, resourceTypeView } from "../../plans/resources/resource-type-view.ts";
import { strategyViews } from "../../strategies/strategy-views.ts";
import { conformanceDocument } from "../../testing/conformance-document.ts";
import { assertPerson, json } from "../operation.ts";
import {
  cleanupShape,
  conformanceShape,
  doctorShape,
  purgeShape,
  resourceTypeShape,
  scanShape,
  strategiesShape,
  trustShape,
} from "../shapes/machine-shapes.ts";
import { amount, text } from "../shapes/parameters.ts";

const age = amount.describe("Only leftovers of at least this age, in milliseconds.");

export const MACHINE_OPERATIONS = [
  json({
    id: "scanLeftovers",
    method: "get",
    path: "/cleanup",
    summary: "List leftovers of plans and commands, and open plans that were not used for long",
    query: z.strictObject({ olderThanMs: age }),
    output: scanShape,
    call: async ({ query }, { services: { cleanup } }) => ({
      items: await cleanup.scan(query),
      idlePlans: await cleanup.idlePlans(query),
    }),
  }),
  json({
    id: "purgeLeftovers",
    method: "post",
    path: "/cleanup/purge",
    summary: "Remove leftovers of plans and commands",
    body: z.strictObject({
      olderThanMs: z.int().min(0).exactOptional(),
      dryRun: z.boolean().exactOptional(),
      undoOlderThanMs: z.int().min(0).exactOptional().describe("Also undo records of at least this age."),
      force: z.boolean().exactOptional().describe("Also those that may hold the only copy of work."),
    }),
    output: purgeShape,
    call: async ({ body }, { services }) => await services.cleanup.purge(body),
  }),
  json({
    id: "showCleanup",
    method: "get",
    path: "/cleanup/status",
    summary: "Count sandboxes, undo records and leftovers",
    output: cleanupShape,
    call: async (_, { services }) => ({ ...(await services.cleanup.status()) }),
  }),
  json({
    id: "listStrategies",
    method: "get",
    path: "/strategies",
    summary: "List the strategies and their capabilities",
    output: strategiesShape,
    call: async (_, { services }) => await strategyViews(services.registry),
  }),
  json({
    id: "checkStrategy",
    method: "post",
    path: "/strategies/check",
    summary: "Run the conformance suite on a strategy",
    body: z.strictObject({
      strategy: text.min(1).describe("Its name, or MODULE:CLASS."),
      resource: text
        .min(1)
        .exactOptional()
        .describe("A folder for the resources, or MODULE:FUNCTION, which makes one."),
    }),
    output: conformanceShape,
    call: async ({ body: { strategy, ...request } }, { services }) =>
      conformanceDocument(await services.check(strategy, request)),
  }),
  json({
    id: "trustConfig",
    method: "post",
    path: "/trust",
    summary:
      "Record that the user trusts a config as it is now; servers and commands that start later use it",
    body: z.strictObject({ file: text.min(1).describe("Its path.") }),
    output: trustShape,
    call: async ({ body }, context) => {
      assertPerson(context);
      return await context.services.trust(body.file);
    },
  }),
  json({
    id: "listResourceTypes",
    method: "get",
    path: "/resource-types",
    summary: "List the types of resource",
    output: z.strictObject({ types: z.array(resourceTypeShape) }),
    call: async (_, { services }) => ({ types: services.resourceTypes.list().map(resourceTypeView) }),
  }),
  json({
    id: "showResourceType",
    method: "get",
    path: "/resource-types/{type}",
    summary: "Show a type of resource",
    parameters: z.strictObject({ type: text.min(1) }),
    output: resourceTypeShape,
    call: async ({ parameters }, { services }) => knownType(services.resourceTypes, parameters.type),
  }),
  json({
    id: "examine",
    method: "get",
    path: "/doctor",
    summary: "Say what works on this machine",
    output: doctorShape,
    call: async (_, { services }) => await services.doctor(),
  }),
  json({
    id: "showVersion",
    method: "get",
    path: "/version",
    summary: "The version of Drydock, and its state directory",
    output: z.strictObject({ version: z.string(), stateDir: z.string() }),
    call: async (_, { services, version }) => ({ version, stateDir: services.stateDir }),
  }),
];
