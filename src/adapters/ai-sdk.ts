import { Readable, Writable } from "node:stream";
import type { Experimental_SandboxSession as SandboxSession } from "ai";
import { UsageError } from "../core/errors/errors.ts";
import type { Entry } from "../core/resource/entry.ts";
import type { Plan } from "../library/plan.ts";
import type { SpawnedCommand } from "../run/spawn.ts";
import { textOf } from "./file-content.ts";
import { type AdapterOptions, PlanPaths, shellCommand } from "./plan-paths.ts";

export type { AdapterOptions } from "./plan-paths.ts";

type Options<Method extends keyof SandboxSession> = SandboxSession[Method] extends (
  options: infer Given,
) => unknown
  ? Given
  : never;
type CommandOptions = Options<"run">;
type SandboxProcess = Awaited<ReturnType<SandboxSession["spawn"]>>;

/**
 * A plan as the sandbox of the AI SDK: what tools get as `experimental_sandbox`. Commands and files have the
 * paths of the originals; nothing changes these until the plan is applied.
 *
 * @example
 * ```ts
 * import { openDrydock } from "drydock-sandbox";
 * import { sandboxSession } from "drydock-sandbox/ai-sdk";
 *
 * await using drydock = await openDrydock();
 * const plan = await drydock.plans.create({ resources: [{ location: "website" }] });
 * const sandbox = await sandboxSession(plan);
 * await sandbox.run({ command: "npm test" });
 * ```
 */
export async function sandboxSession(plan: Plan, options: AdapterOptions = {}): Promise<SandboxSession> {
  const paths = await PlanPaths.of(plan, options.resource);
  const request = ({ command, workingDirectory = ".", env, abortSignal }: CommandOptions) => {
    const { maxOutputBytes: _, ...commands } = options.commands ?? {};
    return {
      ...commands,
      command: shellCommand(options, command),
      cwd: paths.absolute(workingDirectory),
      ...(env !== undefined && { environment: { ...commands.environment, ...env } }),
      ...(abortSignal !== undefined && { signal: abortSignal }),
    };
  };
  const read = async ({ path, abortSignal }: Options<"readBinaryFile">) =>
    (await paths.read(path, callOf(abortSignal))) ?? null;
  const write = async (
    { path, abortSignal }: { readonly path: string; readonly abortSignal?: AbortSignal },
    content: Uint8Array | AsyncIterable<Uint8Array>,
  ) => {
    const place = paths.place(path);
    await place.workspace.writeFile(place.path, content, callOf(abortSignal));
  };
  async function spawn(given: Parameters<SandboxSession["spawn"]>[0]): Promise<SandboxProcess> {
    const { stdin = false, ...command } = given as CommandOptions & { stdin?: boolean };
    return processOf(await plan.spawn(request(command)), { stdin, signal: command.abortSignal });
  }
  return {
    description: description(plan, paths),
    readFile: async ({ path, abortSignal }) => {
      const call = callOf(abortSignal);
      if ((await paths.stat(path, call)) === undefined) return null;
      const place = await paths.followed(path, call);
      return ReadableStream.from(place.workspace.readStream(place.path, call));
    },
    readBinaryFile: read,
    readTextFile: async ({ encoding = "utf-8", startLine, endLine, ...given }) => {
      const bytes = await read(given);
      return bytes === null ? null : lines(new TextDecoder(encoding).decode(bytes), startLine, endLine);
    },
    writeFile: async ({ content, ...given }) => write(given, content),
    writeBinaryFile: async ({ content, ...given }) => write(given, content),
    writeTextFile: async ({ content, encoding = "utf-8", ...given }) =>
      write(given, Buffer.from(content, knownEncoding(encoding))),
    stat: async ({ path, abortSignal }) => {
      const entry = await paths.stat(path, callOf(abortSignal));
      return entry === undefined ? null : { type: typeOf(entry, "other"), size: entry.size };
    },
    listDirectory: async ({ path, abortSignal }) => {
      const entries = await paths.list(path, callOf(abortSignal));
      return entries?.map((entry) => ({ name: nameOf(entry), type: typeOf(entry, "symlink") })) ?? null;
    },
    deleteFile: async ({ path, abortSignal }) => {
      const { workspace, path: inside } = paths.place(path);
      const entry = await workspace.stat(inside, callOf(abortSignal));
      if (entry === undefined) return false;
      if (entry.kind === "directory")
        throw new UsageError(`${path} is a folder.`, { hint: "Remove it by a command.", code: "BAD_PATH" });
      await workspace.remove(inside, callOf(abortSignal));
      return true;
    },
    spawn: spawn as SandboxSession["spawn"],
    run: async (given) => {
      const { maxOutputBytes } = options.commands ?? {};
      try {
        const { exitCode, stdout, stderr } = await plan.run({
          ...request(given),
          ...(maxOutputBytes !== undefined && { maxOutputBytes }),
        });
        return { exitCode, stdout: textOf(stdout.bytes), stderr: textOf(stderr.bytes) };
      } catch (thrown) {
        given.abortSignal?.throwIfAborted();
        throw thrown;
      }
    },
  };
}

function description({ name }: Plan, { folder, locations }: PlanPaths): string {
  return [
    `Commands start in ${folder}. They see the files of this machine at their usual paths.`,
    `${locations.join(", ")}: changes there are collected in the plan '${name}' and reviewed before they land.`,
    "What is written anywhere else is thrown away with the plan.",
  ].join("\n");
}

function processOf(
  command: SpawnedCommand,
  { stdin, signal }: { readonly stdin: boolean; readonly signal: AbortSignal | undefined },
): SandboxProcess {
  if (!stdin) command.stdin.end();
  return {
    stdout: Readable.toWeb(command.stdout) as ReadableStream<Uint8Array>,
    stderr: Readable.toWeb(command.stderr) as ReadableStream<Uint8Array>,
    ...(stdin && { stdin: Writable.toWeb(command.stdin) as WritableStream<Uint8Array> }),
    wait: async () => {
      const { exitCode, aborted } = await command.wait();
      if (aborted === true) signal?.throwIfAborted();
      return { exitCode };
    },
    kill: async () => {
      command.kill("SIGKILL");
      await command.wait();
    },
  };
}

function callOf(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function typeOf<Link extends string>({ kind }: Entry, link: Link): "file" | "directory" | "other" | Link {
  if (kind === "symlink") return link;
  return kind === "file" || kind === "directory" ? kind : "other";
}

function nameOf({ path }: Entry): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The lines from one to another, counted from 1, without the end of the last. */
function lines(text: string, first: number | undefined, last: number | undefined): string {
  if (first === undefined && last === undefined) return text;
  const end = ["\r\n", "\n", "\r"].find((mark) => text.includes(mark)) ?? "\n";
  return text
    .split(end)
    .slice(Math.max(1, first ?? 1) - 1, last)
    .join(end);
}

function knownEncoding(encoding: string): BufferEncoding {
  if (Buffer.isEncoding(encoding)) return encoding;
  throw new UsageError(`'${encoding}' is no encoding that a text can be written in.`, {
    hint: "Use utf-8, utf-16le or latin1, or write bytes.",
  });
}
