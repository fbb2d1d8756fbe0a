import { constants } from "node:os";
import { Readable } from "node:stream";
import { z } from "zod";
import { PROFILE_NAMES } from "../../core/values/run-policy.ts";
import { captureDocument } from "../../run/capture.ts";
import type { SpawnedCommand } from "../../run/spawn.ts";
import { type Call, events, json, type StreamEvent } from "../operation.ts";
import { explanationShape } from "../shapes/explanation-shape.ts";
import { flag, ofPlan, text, texts } from "../shapes/parameters.ts";
import { capturedShape, execShape } from "../shapes/plan-shapes.ts";

const MOST_OUTPUT = 64 * 1024 * 1024;
/** How many pieces of output wait for the client before the command waits. */
const MOST_PIECES = 16;

const size = z.int().min(1).max(Number.MAX_SAFE_INTEGER).exactOptional();
const words = texts.min(1).describe("The program and its arguments.");
/** What decides about what a command is allowed. */
const allowedMembers = {
  network: z
    .boolean()
    .exactOptional()
    .describe("Whether it may use the network. Default: as the policy says."),
  strict: z.boolean().exactOptional(),
  profiles: z
    .union([z.array(z.enum(PROFILE_NAMES)), z.literal("automatic")])
    .exactOptional()
    .describe("Built-in policies; automatic: that of the program. Default: those that configs name."),
  limits: z
    .strictObject({ processes: size, memory: size, scratch: size, time: size })
    .exactOptional()
    .describe("Processes, bytes of memory and of scratch, milliseconds."),
};
/** What every command takes. */
export const commandMembers = {
  command: words,
  cwd: text.exactOptional().describe("Where it starts. Default: the first resource that is a folder."),
  environment: z.record(text, text).exactOptional(),
  unconfined: z
    .boolean()
    .exactOptional()
    .describe("Run it even where this machine can keep it from nothing. Default: no."),
  ...allowedMembers,
};
/** What a command takes that is not run. */
export const explainMembers = { command: words.exactOptional(), ...allowedMembers };
export const checkpoint = z
  .boolean()
  .exactOptional()
  .describe("Whether to save a checkpoint first. Default: yes.");
/** What a command takes whose output is captured. */
export const captureMembers = {
  input: z.string().exactOptional().describe("Its standard input."),
  maxOutputBytes: z.int().min(1).max(MOST_OUTPUT).exactOptional(),
};

/** The size of a terminal. */
export const window = z.strictObject({ rows: z.int().min(1).max(9999), columns: z.int().min(1).max(9999) });
const ofExec = z.strictObject({ exec: text.min(1).describe("The exec of the event `started`.") });
const done = z.strictObject({ exec: z.string() });
const piece = z.strictObject({ base64: z.string() });
const SIGNALS = Object.keys(constants.signals) as [NodeJS.Signals, ...NodeJS.Signals[]];

export const COMMAND_OPERATIONS = [
  json({
    id: "runCommand",
    method: "post",
    path: "/plans/{plan}/exec",
    summary: "Run a command inside, and capture its output. A command that fails is a successful call",
    parameters: ofPlan,
    body: z.strictObject({ ...commandMembers, checkpoint, ...captureMembers }),
    output: capturedShape,
    call: async ({ parameters, body }, { services }) => {
      const request = { ...body, signal: services.operations.signal };
      return captureDocument(await services.capture(parameters.plan, request));
    },
  }),
  json({
    id: "explainCommand",
    method: "post",
    path: "/plans/{plan}/explain",
    summary: "Say what a command inside would be allowed, and which line or profile says so; run nothing",
    parameters: ofPlan,
    body: z.strictObject(explainMembers),
    output: explanationShape,
    call: async ({ parameters, body }, { services }) => await services.explainExec(parameters.plan, body),
  }),
  events({
    id: "streamCommand",
    method: "post",
    path: "/plans/{plan}/exec-stream",
    summary: "Run a command inside, and stream its output. Closing the stream ends the command",
    parameters: ofPlan,
    body: z.strictObject({
      ...commandMembers,
      checkpoint,
      terminal: window.exactOptional().describe("Gives it a terminal of its own. Default: three pipes."),
    }),
    events: {
      started: z.strictObject({ exec: z.string(), planId: z.string() }),
      stdout: piece,
      stderr: piece,
      ended: execShape,
    },
    call: async ({ parameters, body }, call) => {
      const request = { ...body, signal: call.services.operations.signal };
      return streamed(await call.services.spawn(parameters.plan, request), call);
    },
  }),
  json({
    id: "writeInput",
    method: "post",
    path: "/execs/{exec}/stdin",
    summary: "Give a streamed command input; with end it is the last",
    parameters: ofExec,
    query: z.strictObject({ end: flag }),
    body: "bytes",
    output: done,
    call: async ({ parameters, query: { end = false } }, { commands, content }) => {
      const { stdin } = commands.find(parameters.exec);
      for await (const bytes of content) await taken(stdin, bytes);
      if (end) stdin.end();
      return parameters;
    },
  }),
  json({
    id: "signalCommand",
    method: "post",
    path: "/execs/{exec}/signal",
    summary: "Send a signal to a streamed command. SIGKILL ends everything that it started too",
    parameters: ofExec,
    body: z.strictObject({ signal: z.enum(SIGNALS) }),
    output: done,
    call: async ({ parameters, body }, { commands }) => {
      commands.find(parameters.exec).kill(body.signal);
      return parameters;
    },
  }),
  json({
    id: "resizeTerminal",
    method: "post",
    path: "/execs/{exec}/resize",
    summary: "Set the window size of a streamed command's terminal",
    parameters: ofExec,
    body: window,
    output: done,
    call: async ({ parameters, body }, { commands }) => {
      commands.find(parameters.exec).resize(body);
      return parameters;
    },
  }),
];

/** Writes as fast as the command reads. A command that no longer reads has ended, or closed its input. */
async function taken(stdin: SpawnedCommand["stdin"], bytes: Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => stdin.write(bytes, () => resolve()));
}

/** The command as events. When no client reads them any more, the command ends. */
async function* streamed(spawned: SpawnedCommand, { commands }: Call): AsyncGenerator<StreamEvent> {
  await using _ = spawned;
  using named = commands.add(spawned);
  yield { event: "started", data: { exec: named.exec, planId: spawned.planId } };
  yield* outputOf(spawned);
  yield { event: "ended", data: await spawned.wait() };
}

/** Both outputs in the order in which they come. */
function outputOf({ stdout, stderr }: SpawnedCommand): AsyncIterable<StreamEvent> {
  const sources = { stdout, stderr };
  const merged = new Readable({
    objectMode: true,
    highWaterMark: MOST_PIECES,
    read: () => {
      for (const source of Object.values(sources)) source.resume();
    },
  });
  let open = Object.keys(sources).length;
  const closeOne = () => {
    open -= 1;
    if (open === 0) merged.push(null);
  };
  for (const [event, source] of Object.entries(sources)) {
    source.on("data", (bytes: Buffer) => {
      if (!merged.push({ event, data: { base64: bytes.toString("base64") } }))
        for (const each of Object.values(sources)) each.pause();
    });
    source.once("close", closeOne);
    source.once("error", (error) => merged.destroy(error));
  }
  return merged;
}
