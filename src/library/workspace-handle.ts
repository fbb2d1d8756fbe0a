import { UsageError } from "../core/errors/errors.ts";
import { diffPage } from "../plans/diff-page.ts";
import type { EntryAddress } from "../plans/entries/entry-views.ts";
import type { SpawnedCommand } from "../run/spawn.ts";
import type { Services } from "../services.ts";
import type { CallOptions } from "./call-options.ts";
import { callsOf } from "./calls.ts";
import { checkedWorkspace } from "./public-arguments.ts";
import type { Content, Workspace } from "./workspace.ts";

/** The workspace of a resource of a plan; without a name, of the only one. */
export function workspaceHandle(services: Services, planId: string, resource?: string): Workspace {
  const { plans, entries, checkpoints, operations } = services;
  const about = { planId, resource };
  const at = (path: string): EntryAddress => ({ plan: planId, resource, path });
  const spawned = new Set<SpawnedCommand>();
  let isClosed = false;
  const open = callsOf(services, about);
  const call: typeof open = async (...given) => {
    if (isClosed) throw closed();
    return await open(...given);
  };
  const close = async () => {
    isClosed = true;
    await Promise.all([...spawned].map((command) => command[Symbol.asyncDispose]()));
  };
  return checkedWorkspace({
    planId,
    readFile: async (path, options) =>
      await call("read", options, async (range) => Buffer.concat(await all(entries.read(at(path), range)))),
    readStream: async function* (path, options = {}) {
      if (isClosed) throw closed();
      yield* operations.each({ operation: "read", ...about, ...callPart(options) }, () =>
        entries.read(at(path), options),
      );
    },
    writeFile: async (path, content, options) =>
      await call("write", options, () =>
        isStream(content)
          ? entries.write(at(path), content)
          : plans.write(planId, resource, path, Buffer.from(content as Uint8Array)),
      ),
    stat: async (path, options) => await call("stat", options, () => entries.stat(at(path))),
    list: async (path, options) => await call("list", options, (rest) => entries.list(at(path), rest)),
    remove: async (path, options) => await call("remove", options, (rest) => entries.remove(at(path), rest)),
    rename: async (from, to, options) => await call("rename", options, () => entries.rename(at(from), to)),
    makeFolder: async (path, options) =>
      await call("make folder", options, () => entries.makeFolder(at(path))),
    run: async (command, options = {}) =>
      await call("run", options, async (rest) =>
        services.capture(planId, { ...(await inFolder()), ...rest, command, signal: operations.signal }),
      ),
    spawn: async (command, options = {}) =>
      await call("spawn", options, async (rest) => {
        const request = { ...(await inFolder()), ...rest, command, signal: operations.signal };
        const started = await services.spawn(planId, request);
        spawned.add(started);
        void started.wait().finally(() => spawned.delete(started));
        return started;
      }),
    sql: async (script, options) => await call("sql", options, () => plans.sql(planId, resource, script)),
    checkpoint: async (options) =>
      await call("checkpoint", options, (rest) => checkpoints.checkpoint(planId, rest)),
    restore: async (checkpoint, options) =>
      await call("restore", options, () => checkpoints.restore(planId, checkpoint)),
    diff: async (options) => await call("diff", options, (rest) => diffPage(plans, planId, rest)),
    close,
    [Symbol.asyncDispose]: close,
  });

  /** A command starts in the folder of the resource, if the workspace is of one. */
  async function inFolder(): Promise<{ readonly cwd?: string }> {
    if (resource === undefined) return {};
    const { resources } = await plans.show(planId);
    const { location, type } = resources.find(({ name }) => name === resource) ?? {};
    return location?.startsWith("/") === true && type !== "fs-file" ? { cwd: location } : {};
  }
}

function callPart({ signal, onProgress }: CallOptions): CallOptions {
  return { ...(signal !== undefined && { signal }), ...(onProgress !== undefined && { onProgress }) };
}

function isStream(content: Content): content is AsyncIterable<Uint8Array> {
  return typeof content !== "string" && Symbol.asyncIterator in content;
}

async function all(pieces: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
  return await Array.fromAsync(pieces);
}

function closed(): UsageError {
  return new UsageError("The workspace is closed.", { hint: "Get a new one of the plan.", code: "CLOSED" });
}
