import { z } from "zod";
import { type CommandOutput, captureDocument, captureOutput } from "../../run/capture.ts";
import { mayLand } from "../../run/run-once.ts";
import { FailedWithWork } from "../http/problem.ts";
import { json } from "../operation.ts";
import { explanationShape } from "../shapes/explanation-shape.ts";
import { text, texts } from "../shapes/parameters.ts";
import { runShape } from "../shapes/plan-shapes.ts";
import { captureMembers, commandMembers, explainMembers } from "./commands.ts";
import { planMembers } from "./plans.ts";

export const RUN_OPERATIONS = [
  json({
    id: "explainRun",
    method: "post",
    path: "/explain",
    summary: "Say what a command over these resources would be allowed; make no plan, run nothing",
    body: z.strictObject({ resources: planMembers.resources, ...explainMembers }),
    output: explanationShape,
    call: async ({ body }, { services }) => await services.explain(body),
  }),
  json({
    id: "run",
    method: "post",
    path: "/run",
    summary: "Make a plan, run a command inside, and land, keep or throw away what it changed",
    body: z.strictObject({
      plan: z.strictObject(planMembers),
      ...commandMembers,
      ...captureMembers,
      changes: z
        .enum(["apply", "keep", "discard"])
        .exactOptional()
        .describe("What becomes of them; they land only if the command succeeds. Default: keep."),
      ignoreOutside: z
        .boolean()
        .exactOptional()
        .describe("Land even if the command wrote files outside of the plan too."),
      message: text.exactOptional().describe("The reason, recorded with the plan."),
      squash: z.boolean().exactOptional().describe("Land the commits of a git checkout as one."),
      allow: texts.exactOptional().describe("Files that may land although tools run them by themselves."),
    }),
    output: runShape,
    call: async ({ body }, { services }) => {
      const { changes = "keep", ignoreOutside = false, input, maxOutputBytes, ...request } = body;
      const captured = {
        ...(input !== undefined && { input }),
        ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      };
      const ran: { output?: CommandOutput; kept?: string } = {};
      try {
        const outcome = await services.run({
          ...request,
          signal: services.operations.signal,
          talk: async (command) => {
            ran.output = await captureOutput(command, captured);
          },
          decide: async (finding) =>
            changes === "apply" && !mayLand(finding, { ignoreOutside }) ? "keep" : changes,
          onKept: (planId) => {
            ran.kept = planId;
          },
        });
        // A run that comes to its end has talked to its command.
        return captureDocument({ ...outcome, ...(ran.output as CommandOutput) });
      } catch (thrown) {
        throw ran.kept === undefined ? thrown : new FailedWithWork(ran.kept, thrown);
      }
    },
  }),
];
