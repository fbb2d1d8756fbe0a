import { z } from "zod";
import { partNamed } from "../../run/detached/detached-protocol.ts";
import { type Call, json } from "../operation.ts";
import { amount, nothing, ofPlan, text } from "../shapes/parameters.ts";
import { detachedShape } from "../shapes/plan-shapes.ts";
import { checkpoint, commandMembers, window } from "./commands.ts";

const WAIT_SECONDS = 30;
const MOST_WAIT_SECONDS = 300;

const ofCommand = ofPlan.extend({
  exec: text.min(1).describe("The command: the `exec` that its start told."),
});
const done = z.strictObject({ exec: z.string() });

/** Commands that go on without the client, and without the server. */
export const DETACHED_OPERATIONS = [
  json({
    id: "detachCommand",
    method: "post",
    path: "/plans/{plan}/commands",
    summary: "Start a command that goes on without this client and this server, at a terminal of its own",
    parameters: ofPlan,
    body: z.strictObject({
      ...commandMembers,
      checkpoint,
      terminal: window.exactOptional().describe("The size of its terminal. Default: 24 rows, 80 columns."),
    }),
    status: 201,
    output: detachedShape,
    call: async ({ parameters, body }, { services }) => await services.detached.start(parameters.plan, body),
  }),
  json({
    id: "listCommands",
    method: "get",
    path: "/plans/{plan}/commands",
    summary: "The detached commands that run in a plan, whoever started them",
    parameters: ofPlan,
    output: z.strictObject({ commands: z.array(detachedShape) }),
    call: async ({ parameters }, { services }) => ({
      commands: [...(await services.detached.running(parameters.plan))],
    }),
  }),
  json({
    id: "showCommand",
    method: "get",
    path: "/plans/{plan}/commands/{exec}",
    summary: "A detached command: whether it runs, or how it ended",
    parameters: ofCommand,
    output: detachedShape,
    call: async ({ parameters: { plan, exec } }, { services }) => await services.detached.show(plan, exec),
  }),
  json({
    id: "readOutput",
    method: "get",
    path: "/plans/{plan}/commands/{exec}/output",
    summary: "What a detached command wrote, as far as it is kept, or a part of it",
    parameters: ofCommand,
    query: z.strictObject({
      from: amount.describe("The first byte of it, such as the `next` of the answer before."),
      last: amount.describe("How many bytes of its end, instead."),
    }),
    output: z
      .strictObject({
        text: z.string().describe("A byte HH that is not UTF-8 is \\udcHH."),
        from: z.number().describe("Where in all of its output, in bytes, this begins."),
        next: z.number().describe("Where the output behind this begins."),
        omitted: z.number().describe("How many bytes before this were asked for and are not kept any more."),
        isExcerpt: z.literal(true).optional().describe("Only what the history has is left."),
      })
      .meta({ id: "CommandOutput" }),
    call: async ({ parameters: { plan, exec }, query }, { services }) => {
      const { bytes: _, ...output } = await services.detached.output(plan, exec, partNamed(query));
      return output;
    },
  }),
  json({
    id: "typeInput",
    method: "post",
    path: "/plans/{plan}/commands/{exec}/input",
    summary: "Type at the terminal of a detached command; answered when that has taken it",
    parameters: ofCommand,
    body: "bytes",
    output: done,
    call: async ({ parameters: { plan, exec } }, { services, content }) => {
      // Also without any input, it must be there.
      await services.detached.show(plan, exec);
      for await (const bytes of content) await services.detached.write(plan, exec, bytes);
      return { exec };
    },
  }),
  json({
    id: "resizeCommand",
    method: "post",
    path: "/plans/{plan}/commands/{exec}/resize",
    summary: "Set the window size of a detached command's terminal",
    parameters: ofCommand,
    body: window,
    output: done,
    call: async ({ parameters: { plan, exec }, body }, { services }) => {
      await services.detached.resize(plan, exec, body);
      return { exec };
    },
  }),
  json({
    id: "awaitCommand",
    method: "get",
    path: "/plans/{plan}/commands/{exec}/end",
    summary: "Wait for the end of a detached command; one that still runs then is told as that",
    parameters: ofCommand,
    query: z.strictObject({
      seconds: amount
        .pipe(z.int().max(MOST_WAIT_SECONDS).exactOptional())
        .describe(`How long to wait: at most ${MOST_WAIT_SECONDS}. Default: ${WAIT_SECONDS}.`),
    }),
    output: detachedShape,
    call: async ({ parameters: { plan, exec }, query: { seconds = WAIT_SECONDS } }, call) =>
      await endedWithin(plan, exec, seconds, call),
  }),
  json({
    id: "endCommand",
    method: "post",
    path: "/plans/{plan}/commands/{exec}/end",
    summary: "End a detached command: SIGTERM first, and SIGKILL after five seconds",
    parameters: ofCommand,
    body: nothing,
    output: detachedShape,
    call: async ({ parameters: { plan, exec } }, { services }) => await services.detached.end(plan, exec),
  }),
];

async function endedWithin(plan: string, exec: string, seconds: number, { services, signal }: Call) {
  const { detached, operations } = services;
  const over = AbortSignal.timeout(seconds * 1000);
  const either = AbortSignal.any([signal, over]);
  try {
    return await operations.run({ operation: "awaitCommand", signal: either }, () =>
      detached.ended(plan, exec),
    );
  } catch (thrown) {
    if (!over.aborted || signal.aborted) throw thrown;
    return await detached.show(plan, exec);
  }
}
